/**
 * Double entry. An entry is what one booking moved: rows over named accounts that add up to nothing. It carries the
 * booking's idempotency key, so that what was booked is booked once.
 */
import { exact, MoneyError, sum } from './money.ts';

/**
 * The house's accounts. A positive row is what the account gains as a creditor of the house; what the house itself
 * holds (`*_clearing`) therefore goes down below zero as money comes in.
 */
export const HOUSE_ACCOUNTS = [
  /** Money that lies at the bank gateway, or was transferred from there. */
  'gateway_clearing',
  /** Money that an app store collected for the house. */
  'store_clearing',
  'gateway_fees',
  /** Withdrawals that are neither paid nor rejected. */
  'held_withdrawals',
  'revenue',
  'commission',
  'vat',
] as const;

export type HouseAccount = (typeof HOUSE_ACCOUNTS)[number];
export type WalletAccount = `wallet:${number}`;
export type Account = HouseAccount | WalletAccount;

export interface Row {
  account: Account;
  /** Whole Tooman, signed, never zero. */
  amount: number;
}

export const ENTRY_KINDS = [
  'booking',
  'deposit',
  'withdrawal',
  'withdrawal_paid',
  'withdrawal_rejected',
  'store_purchase',
] as const;

export type EntryKind = (typeof ENTRY_KINDS)[number];

export interface LedgerEntry {
  /** Unique for ever: the idempotency key of the booking. */
  key: string;
  kind: EntryKind;
  /** Of the request that was booked, where a caller chose the key; null where the key says everything. */
  inputHash: string | null;
  rows: readonly Row[];
  /** The payments that this entry books, or settles. */
  paymentIds: readonly number[];
}

/** Thrown inside a transaction that would write something personal of an erased account. */
export class ErasedWallet extends Error {
  override name = 'ErasedWallet';
  readonly userId: number;

  constructor(userId: number) {
    super(`The account of user ${userId} is erased`);
    this.userId = userId;
  }
}

/** The key of an entry is taken: what was asked for is already booked. */
export class AlreadyBooked extends Error {
  override name = 'AlreadyBooked';
}

/** By name and not by class: in a test run two realms may hold two copies of the class. */
export const isAlreadyBooked = (error: unknown): boolean =>
  (error as { name?: unknown } | null)?.name === 'AlreadyBooked';

export const walletAccount = (userId: number): WalletAccount => `wallet:${userId}`;

const WALLET = /^wallet:([1-9]\d*)$/;

/** The owner of a wallet account, undefined for an account of the house. */
export const walletOwner = (account: string): number | undefined => {
  const digits = WALLET.exec(account)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

/** Rows of the same account become one; rows of nothing disappear. */
const condensed = (rows: readonly Row[]): Row[] => {
  const byAccount = new Map<Account, number>();
  for (const { account, amount } of rows) {
    byAccount.set(account, exact((byAccount.get(account) ?? 0) + exact(amount)));
  }
  return [...byAccount]
    .filter(([, amount]) => amount !== 0)
    .map(([account, amount]) => ({ account, amount }));
};

/** The only way to make an entry. Throws {@link MoneyError} for rows that do not add up to zero. */
export const createEntry = (entry: {
  key: string;
  kind: EntryKind;
  inputHash?: string | null;
  rows: readonly Row[];
  paymentIds: readonly number[];
}): LedgerEntry => {
  const rows = condensed(entry.rows);
  const difference = sum(rows.map(({ amount }) => amount));
  if (difference !== 0) throw new MoneyError(`The rows of ${entry.key} are off by ${difference}`);
  return { ...entry, inputHash: entry.inputHash ?? null, rows };
};

/**
 * What the entry does to each wallet, by user id in growing order: two bookings over the same wallets then touch them
 * in the same order.
 */
export const walletMoves = (entry: LedgerEntry): { userId: number; amount: number }[] =>
  entry.rows
    .flatMap(({ account, amount }) => {
      const userId = walletOwner(account);
      return userId === undefined ? [] : [{ userId, amount }];
    })
    .sort((one, other) => one.userId - other.userId);
