/**
 * The auditor's rules: every balance, hold and booking is recomputed, and compared with what is stored. Fed with all
 * payments, then all entries, then all wallets; it remembers the first thing that does not fit.
 */
import { depositRows, holdRows, payoutRows, releaseRows } from './booking.ts';
import {
  type Account,
  createEntry,
  HOUSE_ACCOUNTS,
  type LedgerEntry,
  type Row,
  walletAccount,
  walletOwner,
} from './ledger.ts';
import { balanceEffect, type DepositMeta, isOpenWithdrawal, type Payment } from './payment.ts';

export interface AuditReport {
  payments: number;
  entries: number;
  wallets: number;
  /** What does not fit, undefined when everything does. */
  difference: string | undefined;
}

export interface Audit {
  payment(payment: Payment): void;
  entry(entry: LedgerEntry): void;
  wallet(wallet: { userId: number; balance: number }): void;
  report(): AuditReport;
}

/** The entries that a payment must have, by kind. */
const entryKindsOf = (payment: Payment): LedgerEntry['kind'][] => {
  switch (payment.type) {
    case 'deposit':
      return payment.isDone ? ['deposit'] : [];
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
      return ['booking'];
  }
};

const add = <Key>(sums: Map<Key, number>, key: Key, amount: number): void => {
  sums.set(key, (sums.get(key) ?? 0) + amount);
};

/** The rows that the payments of an entry call for, where they alone decide them; else those on wallets. */
const expectedRows = (entry: LedgerEntry, payments: readonly Payment[]): Row[] => {
  const [payment] = payments;
  if (payment === undefined) return [];
  const { userId, amount } = payment;
  switch (entry.kind) {
    case 'deposit':
      return depositRows(userId, payment.meta as DepositMeta);
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
        amount: balanceEffect(booked),
      }));
  }
};

/** The accounts that are compared: rates change, so what the house keeps of a sale cannot be recomputed later. */
const isCompared = (kind: LedgerEntry['kind'], account: Account): boolean => {
  if (kind === 'booking') return walletOwner(account) !== undefined;
  if (kind === 'store_purchase') return account === 'store_clearing' || walletOwner(account) !== undefined;
  return true;
};

const sums = (rows: readonly Row[], kind: LedgerEntry['kind']): Map<Account, number> => {
  const totals = new Map<Account, number>();
  for (const { account, amount } of rows) if (isCompared(kind, account)) add(totals, account, amount);
  for (const [account, amount] of totals) if (amount === 0) totals.delete(account);
  return totals;
};

const sameSums = (one: Map<Account, number>, other: Map<Account, number>): boolean =>
  one.size === other.size && [...one].every(([account, amount]) => other.get(account) === amount);

const problemOfEntry = (entry: LedgerEntry, payments: ReadonlyMap<number, Payment>): string | undefined => {
  const name = `entry ${entry.key}`;
  const houses: readonly string[] = HOUSE_ACCOUNTS;
  const unknown = entry.rows.find(
    ({ account }) => walletOwner(account) === undefined && !houses.includes(account),
  );
  if (unknown !== undefined) return `${name} has a row on the unknown account ${unknown.account}`;
  try {
    createEntry(entry);
  } catch (error) {
    return `${name}: ${(error as Error).message}`;
  }
  const booked = entry.paymentIds.flatMap((id) => payments.get(id) ?? []);
  if (booked.length !== entry.paymentIds.length || booked.length === 0)
    return `${name} is for a payment that is not there`;
  const stray = booked.find((payment) => !entryKindsOf(payment).includes(entry.kind));
  if (stray !== undefined)
    return `${name} does not belong to payment ${stray.id}, a ${stray.type} in its state`;
  const expected = sums(expectedRows(entry, booked), entry.kind);
  if (!sameSums(sums(entry.rows, entry.kind), expected))
    return `${name} has other rows than its payments call for`;
  return undefined;
};

const problemOfPayment = ({ id, amount, isDone, rejectedAt }: Payment): string | undefined => {
  if (!Number.isSafeInteger(amount) || amount < 0) return `payment ${id} has the amount ${amount}`;
  if (isDone && rejectedAt !== null) return `payment ${id} is both done and rejected`;
  return undefined;
};

export const createAudit = (): Audit => {
  const payments = new Map<number, Payment>();
  const entryKeys = new Set<string>();
  /** `<payment id> <kind>` of each entry seen. */
  const bookedAs = new Set<string>();
  const byPayments = new Map<number, number>();
  const byRows = new Map<Account, number>();
  const stored = new Map<number, number>();
  let openWithdrawals = 0;
  let difference: string | undefined;
  const found = (problem: string | undefined): void => {
    difference ??= problem;
  };

  const compareBalances = (): void => {
    const owners = [...byRows.keys()].flatMap((account) => walletOwner(account) ?? []);
    const users = new Set([...stored.keys(), ...byPayments.keys(), ...owners]);
    for (const userId of [...users].sort((one, other) => one - other)) {
      const balance = stored.get(userId) ?? 0;
      const payable = byPayments.get(userId) ?? 0;
      const rows = byRows.get(walletAccount(userId)) ?? 0;
      if (balance !== payable)
        found(`the balance of user ${userId} is stored as ${balance}, and ${payable} by his payments`);
      if (balance !== rows)
        found(`the balance of user ${userId} is stored as ${balance}, and ${rows} by his rows`);
    }
  };

  const finish = (): void => {
    for (const payment of payments.values()) {
      const missing = entryKindsOf(payment).find((kind) => !bookedAs.has(`${payment.id} ${kind}`));
      if (missing !== undefined) found(`payment ${payment.id} has no entry of kind ${missing}`);
    }
    compareBalances();
    const held = byRows.get('held_withdrawals') ?? 0;
    if (held !== openWithdrawals)
      found(`held for withdrawals are ${held} by the rows, and ${openWithdrawals} by the open withdrawals`);
    const total = [...byRows.values()].reduce((all, amount) => all + BigInt(amount), 0n);
    if (total !== 0n) found(`all rows together are off by ${total}`);
  };

  return {
    payment: (payment) => {
      found(problemOfPayment(payment));
      if (payments.has(payment.id)) found(`payment ${payment.id} is there twice`);
      payments.set(payment.id, payment);
      add(byPayments, payment.userId, balanceEffect(payment));
      if (isOpenWithdrawal(payment)) openWithdrawals += payment.amount;
    },
    entry: (entry) => {
      if (entryKeys.has(entry.key)) found(`the key ${entry.key} is there twice`);
      entryKeys.add(entry.key);
      found(problemOfEntry(entry, payments));
      for (const id of entry.paymentIds) {
        const booking = `${id} ${entry.kind}`;
        if (bookedAs.has(booking)) found(`payment ${id} is booked twice as ${entry.kind}`);
        bookedAs.add(booking);
      }
      for (const { account, amount } of entry.rows) add(byRows, account, amount);
    },
    wallet: ({ userId, balance }) => {
      stored.set(userId, balance);
    },
    report: () => {
      finish();
      return { payments: payments.size, entries: entryKeys.size, wallets: stored.size, difference };
    },
  };
};
