/**
 * The rules of the audit. Every balance, hold and booking is recomputed and compared with what is stored, and the ledger is
 * compared with its seals. Each rule compares a few documents of one snapshot.
 */
import type { Difference } from '@fitness/shared/kernel/seal.ts';
import { depositRows, heldRows, holdRows, payoutRows, releaseRows } from './booking.ts';
import { returnsPurchase } from './booking-rules.ts';
import {
  type Account,
  createEntry,
  isPlatformAccount,
  type LedgerEntry,
  type Row,
  walletAccount,
  walletOwner,
} from './ledger.ts';
import { balanceEffect, depositMetaOf, isHeldCredit, isOpenWithdrawal, type Payment } from './payment.ts';
import { type BookedEntry, isIntact } from './seal.ts';

/** The kinds of entries that a payment must have. */
const entryKindsOf = (payment: Payment): LedgerEntry['kind'][] => {
  switch (payment.type) {
    case 'deposit':
      return payment.isDone ? ['deposit'] : isHeldCredit(payment) ? ['deposit', ...heldKindsOf(payment)] : [];
    case 'withdrawal':
      return [
        'withdrawal',
        ...(payment.isDone ? ['withdrawal_paid' as const] : []),
        ...(payment.rejectedAt === null ? [] : ['withdrawal_rejected' as const]),
      ];
    case 'store_purchase':
      return ['store_purchase'];
    case 'income':
    case 'purchase':
    case 'commission':
      return payment.isDone ? ['booking'] : ['booking', ...heldKindsOf(payment)];
  }
};

const heldKindsOf = ({ gateway }: Payment): LedgerEntry['kind'][] =>
  gateway?.state === 'returned' ? ['held', 'returned'] : ['held'];

/** Accounts whose rows in an entry of this kind are not determined by its payments. */
const UNDETERMINED_ACCOUNTS: Readonly<Record<LedgerEntry['kind'], readonly Account[]>> = {
  // Rates change, so the platform's share of a sale cannot be recomputed later.
  booking: ['revenue', 'commission', 'vat'],
  store_purchase: ['revenue', 'vat'],
  deposit: [],
  withdrawal: [],
  withdrawal_paid: [],
  withdrawal_rejected: [],
  held: [],
  // The hold determines the amount: see differenceOfHold.
  returned: ['erased_credits', 'gateway_clearing'],
};

/** What a payment did to the balance when it was booked. */
const bookedEffect = (payment: Payment): number => balanceEffect({ ...payment, isDone: true });

/** The rows that the payments of an entry determine. */
const determinedRows = (entry: LedgerEntry, payments: readonly Payment[]): Row[] => {
  const [payment] = payments;
  if (payment === undefined) return [];
  const { userId, amount } = payment;
  switch (entry.kind) {
    case 'deposit':
      return depositRows(userId, depositMetaOf(payment));
    case 'withdrawal':
      return holdRows(userId, amount);
    case 'withdrawal_paid':
      return payoutRows(amount);
    case 'withdrawal_rejected':
      return releaseRows(userId, amount);
    case 'store_purchase':
      return [{ account: 'store_clearing', amount: -amount }];
    case 'booking':
      return payments.map((booked) => ({
        account: walletAccount(booked.userId),
        amount: bookedEffect(booked),
      }));
    case 'held':
      return heldRows(
        userId,
        payments.reduce((all, booked) => all + bookedEffect(booked), 0),
      );
    case 'returned':
      return [];
  }
};

/** The sum of the rows per account. Accounts in `excluded` and sums of 0 are left out. */
const sums = (rows: readonly Row[], excluded: readonly Account[]): Map<Account, number> => {
  const totals = new Map<Account, number>();
  for (const { account, amount } of rows)
    if (!excluded.includes(account)) totals.set(account, (totals.get(account) ?? 0) + amount);
  for (const [account, amount] of totals) if (amount === 0) totals.delete(account);
  return totals;
};

const sameSums = (one: Map<Account, number>, other: Map<Account, number>): boolean =>
  one.size === other.size && [...one].every(([account, amount]) => other.get(account) === amount);

const isAccount = (account: string): boolean =>
  walletOwner(account) !== undefined || isPlatformAccount(account);

const differenceOfRows = (entry: LedgerEntry): Difference => {
  try {
    createEntry(entry);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

const differenceOfPayment = ({ id, amount, isDone, rejectedAt }: Payment): Difference => {
  if (!Number.isSafeInteger(amount) || amount < 0) return `payment ${id} has the amount ${amount}`;
  if (isDone && rejectedAt !== null) return `payment ${id} is both done and rejected`;
  return undefined;
};

/**
 * Checks an entry itself, and against its payments and the wallets of its rows. `payments` is keyed by id, `owners` are the
 * users with a wallet, and `lastSeal` is the number of the newest seal.
 */
export const differenceOfEntry = (
  entry: BookedEntry,
  payments: ReadonlyMap<number, Payment>,
  owners: ReadonlySet<number>,
  lastSeal: number,
): Difference => {
  const name = `entry ${entry.key}`;
  if (!isIntact(entry)) return `${name} is not what was booked`;
  if (entry.seal !== null && entry.seal > lastSeal)
    return `${name} is marked with seal ${entry.seal}, which does not exist`;
  const unknown = entry.rows.find(({ account }) => !isAccount(account));
  if (unknown !== undefined) return `${name} has a row on the unknown account ${unknown.account}`;
  const sumDifference = differenceOfRows(entry);
  if (sumDifference !== undefined) return `${name}: ${sumDifference}`;
  const booked = entry.paymentIds.flatMap((id) => payments.get(id) ?? []);
  if (booked.length !== entry.paymentIds.length || booked.length === 0)
    return `${name} is for a payment that does not exist`;
  for (const payment of booked) {
    const wrong = differenceOfPayment(payment);
    if (wrong !== undefined) return wrong;
    if (!entryKindsOf(payment).includes(entry.kind))
      return `${name} does not belong to payment ${payment.id} (${payment.type}) in its state`;
  }
  const excluded = UNDETERMINED_ACCOUNTS[entry.kind];
  if (!sameSums(sums(entry.rows, excluded), sums(determinedRows(entry, booked), excluded)))
    return `${name} has other rows than its payments call for`;
  const withoutWallet = entry.rows
    .map(({ account }) => walletOwner(account))
    .find((id) => id !== undefined && !owners.has(id));
  return withoutWallet === undefined ? undefined : `the wallet of user ${withoutWallet} does not exist`;
};

/** Checks that the incomes of a booking are paid by its purchases, or return `purchases`, the payments that it refunds. */
export const differenceOfIncomes = (
  { key, kind }: LedgerEntry,
  booked: readonly Payment[],
  purchases: readonly Payment[],
): Difference => {
  if (kind !== 'booking') return undefined;
  const total = (type: Payment['type']): number =>
    booked.filter((payment) => payment.type === type).reduce((all, { amount }) => all + amount, 0);
  if (total('income') <= total('purchase')) return undefined;
  const [income, ...others] = booked;
  const [purchase, ...rest] = purchases;
  const isRefund =
    income && purchase && others.length + rest.length === 0 && returnsPurchase(income, purchase);
  return isRefund ? undefined : `entry ${key} has an income that no purchase pays`;
};

/** Checks that a payment has each required kind of entry once. */
export const differenceOfBookings = (payment: Payment, entries: readonly LedgerEntry[]): Difference => {
  const wrong = differenceOfPayment(payment);
  if (wrong !== undefined) return wrong;
  const kinds = entries.map(({ kind }) => kind);
  const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index);
  if (twice !== undefined) return `payment ${payment.id} is booked twice as ${twice}`;
  const missing = entryKindsOf(payment).find((kind) => !kinds.includes(kind));
  return missing === undefined ? undefined : `payment ${payment.id} has no entry of kind ${missing}`;
};

/** Compares the amount that the entries hold for a payment with what its state requires. */
export const differenceOfHold = (payment: Payment, entries: readonly LedgerEntry[]): Difference => {
  const heldOn = (account: Account): number =>
    entries
      .flatMap(({ rows }) => rows)
      .filter((row) => row.account === account)
      .reduce((all, { amount }) => all + amount, 0);
  const credits = heldOn('erased_credits');
  const isOpenCredit = isHeldCredit(payment) && payment.gateway?.state === 'mismatch';
  // A commission belongs to the hold of its income.
  if (payment.type !== 'commission' && credits > 0 !== isOpenCredit)
    return `held of the credit ${payment.id} of an erased account are ${credits}`;
  const byRows = heldOn('held_withdrawals');
  const byState = isOpenWithdrawal(payment) ? payment.amount : 0;
  return byRows === byState
    ? undefined
    : `held for payment ${payment.id} are ${byRows} by the rows, and ${byState} by its state`;
};

/** Compares a stored balance with the sums of the user's payments and ledger rows. */
export const differenceOfWallet = (
  { userId, balance }: { userId: number; balance: number },
  byPayments: bigint,
  byRows: bigint,
): Difference => {
  const stored = `the balance of user ${userId} is stored as ${balance}`;
  if (!Number.isSafeInteger(balance) || balance < 0) return stored;
  if (BigInt(balance) !== byPayments) return `${stored}, but is ${byPayments} by the payments`;
  if (BigInt(balance) !== byRows) return `${stored}, but is ${byRows} by the rows`;
  return undefined;
};
