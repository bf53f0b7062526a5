/**
 * Double-entry bookkeeping. An entry contains the rows of one booking, which add up to zero. Its key is the booking's
 * idempotency key, so nothing is booked twice.
 */
import { exact, MoneyError, sum } from './money.ts';

/**
 * The platform's accounts. Positive amounts are credits, and negative ones are debits: the balance of an asset, `*_clearing`,
 * falls below zero as money comes in.
 */
const PLATFORM_ACCOUNTS = [
  /** Money at the bank gateway, and transfers out of it. */
  'gateway_clearing',
  /** Money that an app store collected for the platform. */
  'store_clearing',
  'gateway_fees',
  /** Withdrawals that are neither paid nor rejected. */
  'held_withdrawals',
  /** What erased accounts were credited, until an operator has returned it. */
  'erased_credits',
  'revenue',
  'commission',
  'vat',
] as const;

export type PlatformAccount = (typeof PLATFORM_ACCOUNTS)[number];
export type WalletAccount = `wallet:${number}`;
export type Account = PlatformAccount | WalletAccount;

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
  'held',
  'returned',
] as const;

export type EntryKind = (typeof ENTRY_KINDS)[number];

export interface LedgerEntry {
  /** The idempotency key of the booking; never reused. */
  key: string;
  kind: EntryKind;
  /** Hash of the booked request when the caller chose the key; null when the key determines the request. */
  inputHash: string | null;
  rows: readonly Row[];
  /** The payments that this entry books, or settles. */
  paymentIds: readonly number[];
}

/** Thrown by a transaction that would store personal data of an erased account, or credit it. */
export class AccountErased extends Error {
  override name = 'AccountErased';
  readonly userId: number;

  constructor(userId: number) {
    super(`The account of user ${userId} is erased`);
    this.userId = userId;
  }
}

/** Thrown for an entry whose key is already booked. */
export class AlreadyBooked extends Error {
  override name = 'AlreadyBooked';
}

export const isPlatformAccount = (account: string): account is PlatformAccount =>
  (PLATFORM_ACCOUNTS as readonly string[]).includes(account);

export const walletAccount = (userId: number): WalletAccount => `wallet:${userId}`;

const WALLET = /^wallet:([1-9]\d*)$/;

/** The owner of a wallet account; undefined for any other account. */
export const walletOwner = (account: string): number | undefined => {
  const digits = WALLET.exec(account)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

/** One row per account, without rows of amount 0. */
const merged = (rows: readonly Row[]): Row[] => {
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
  const rows = merged(entry.rows);
  const difference = sum(rows.map(({ amount }) => amount));
  if (difference !== 0) throw new MoneyError(`The rows of ${entry.key} are off by ${difference}`);
  return { ...entry, inputHash: entry.inputHash ?? null, rows };
};

/** The change of each wallet, in ascending order of user id: all bookings write wallets in the same order. */
export const walletMoves = (entry: LedgerEntry): { userId: number; amount: number }[] =>
  entry.rows
    .flatMap(({ account, amount }) => {
      const userId = walletOwner(account);
      return userId === undefined ? [] : [{ userId, amount }];
    })
    .sort((one, other) => one.userId - other.userId);
