/**
 * Reads everything in chunks and lets the auditor's rules judge it. Each chunk is one snapshot with all that its rules
 * compare, so that bookings that go on meanwhile are seen wholly or not at all, and no more is in memory than a chunk.
 */

import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import {
  type Difference,
  differenceOfBookings,
  differenceOfEntry,
  differenceOfHold,
  differenceOfLeaves,
  differenceOfSeal,
  differenceOfWallet,
} from '../domain/audit.ts';
import { HOUSE_ACCOUNTS, type HouseAccount, walletOwner } from '../domain/ledger.ts';
import { balanceEffect, type Payment } from '../domain/payment.ts';
import { type BookedEntry, headText, type Seal } from '../domain/seal.ts';
import type { WalletDeps } from './deps.ts';

const ROWS = 500;
const WALLETS = 100;
/** A seal holds up to five hundred entries. */
const SEALS = 5;
const MAX_NAMED = 20;

export interface AuditReport {
  seals: number;
  entries: number;
  payments: number;
  wallets: number;
  /** The newest seal as `number:hash`; undefined when nothing is sealed. */
  head: string | undefined;
  /** Entries that were not sealed when the audit began. */
  unsealed: number;
  /** What the entries add up to on the accounts of the house, and on all wallets together; in all, nothing. */
  accounts: Readonly<Record<HouseAccount | 'wallets', bigint>>;
  /** Deposits for which the gateway took something else, the newest of them; they are in no balance. */
  disputedDeposits: readonly number[];
  /** The first thing that does not fit, undefined when everything does. */
  difference: Difference;
}

/** `noted`: a head that was written down before; the chain must still contain it. Stops at the first difference. */
export type AuditWallets = (noted?: { number: number; hash: string }) => Promise<AuditReport>;

type Deps = Pick<WalletDeps, 'store' | 'seals'>;

/** Thrown to end the audit at the first difference. */
class Found extends Error {
  override name = 'Found';
}

const judge = (difference: Difference): void => {
  if (difference !== undefined) throw new Found(difference);
};

export const createAuditWallets =
  (deps: Deps): AuditWallets =>
  async (noted) => {
    const disputed = await deps.store.payments.disputed({
      mode: 'cursor',
      perPage: MAX_NAMED,
      after: [Number.MAX_SAFE_INTEGER],
    });
    const nothing = Object.fromEntries([...HOUSE_ACCOUNTS, 'wallets'].map((account) => [account, 0n]));
    const report: AuditReport = {
      seals: 0,
      entries: 0,
      payments: 0,
      wallets: 0,
      head: undefined,
      unsealed: await deps.store.entries.countUnsealed(),
      accounts: nothing as AuditReport['accounts'],
      disputedDeposits: disputed.rows.map(({ id }) => id),
      difference: undefined,
    };
    try {
      await readSeals(deps, report, noted);
      await readEntries(deps, report);
      await readPayments(deps, report);
      await readWallets(deps, report);
      const total = Object.values(report.accounts).reduce((all, amount) => all + amount, 0n);
      judge(total === 0n ? undefined : `all rows together are off by ${total}`);
    } catch (error) {
      if (!(error instanceof Found)) throw error;
      report.difference = error.message;
    }
    return report;
  };

const readSeals = async (
  { store, seals }: Deps,
  report: AuditReport,
  noted: Parameters<AuditWallets>[0],
): Promise<void> => {
  let last: Seal | undefined;
  for (;;) {
    const chunk = await seals.after(last?.number ?? 0, SEALS);
    for (const seal of chunk) {
      judge(differenceOfSeal(seal, last));
      if (seal.number === noted?.number && seal.hash !== noted.hash)
        judge(`seal ${seal.number} is not the one that was noted`);
      last = seal;
    }
    const newest = (await seals.last(last?.number ?? 0))?.number;
    for (const seal of chunk) {
      const entries = await store.transaction((session) => sealed({ store }, seal, session));
      judge(differenceOfLeaves(seal, entries, seal.number === newest));
    }
    report.seals += chunk.length;
    if (chunk.length < SEALS) break;
  }
  if (last !== undefined) report.head = headText(last);
  if (noted !== undefined && (last?.number ?? 0) < noted.number)
    judge(`seal ${noted.number}, which was noted, is not there`);
};

/** The entries that a seal names, and those that name it. */
const sealed = async (
  { store }: Pick<Deps, 'store'>,
  { number, leaves }: Seal,
  session: ClientSession,
): Promise<BookedEntry[]> => {
  const named = await store.entries.findMany(
    leaves.map(({ key }) => key),
    session,
  );
  const keys = new Set(named.map(({ key }) => key));
  const naming = await store.entries.ofSeal(number, session);
  return [...named, ...naming.filter(({ key }) => !keys.has(key))];
};

const ownersOf = ({ rows }: BookedEntry): number[] =>
  rows.flatMap(({ account }) => walletOwner(account) ?? []);

const readEntries = async ({ store, seals }: Deps, report: AuditReport): Promise<void> => {
  let lastKey = '';
  let lastSeal = report.seals;
  for (;;) {
    const chunk = await store.transaction(async (session) => {
      const entries = await store.entries.after(lastKey, ROWS, session);
      const payments = await store.payments.findMany(
        entries.flatMap(({ paymentIds }) => paymentIds),
        session,
      );
      const owners = await store.wallets.owners(entries.flatMap(ownersOf), session);
      return { entries, owners, payments: new Map(payments.map((payment) => [payment.id, payment])) };
    });
    // Read after the entries: a seal that they name was there before they named it.
    lastSeal = (await seals.last(lastSeal))?.number ?? 0;
    for (const entry of chunk.entries) {
      judge(differenceOfEntry(entry, chunk.payments, chunk.owners, lastSeal));
      addRows(report, entry);
      report.entries += 1;
      lastKey = entry.key;
    }
    if (chunk.entries.length < ROWS) return;
  }
};

const addRows = ({ accounts }: AuditReport, { rows }: BookedEntry): void => {
  const totals = accounts as Record<string, bigint>;
  for (const { account, amount } of rows) {
    const name = walletOwner(account) === undefined ? account : 'wallets';
    totals[name] = (totals[name] ?? 0n) + BigInt(amount);
  }
};

const readPayments = async ({ store }: Deps, report: AuditReport): Promise<void> => {
  let lastId = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const chunk = await store.transaction(async (session) => {
      const payments = await store.payments.after(lastId, ROWS, session);
      const entries = await store.entries.ofPayments(
        payments.map(({ id }) => id),
        session,
      );
      return { payments, entries };
    });
    const byPayment = new Map<number, BookedEntry[]>(chunk.payments.map(({ id }) => [id, []]));
    for (const entry of chunk.entries) for (const id of entry.paymentIds) byPayment.get(id)?.push(entry);
    for (const payment of chunk.payments) {
      const entries = byPayment.get(payment.id) ?? [];
      judge(differenceOfBookings(payment, entries));
      judge(differenceOfHold(payment, entries));
      report.payments += 1;
      lastId = payment.id;
    }
    if (chunk.payments.length < ROWS) return;
  }
};

const readWallets = async ({ store }: Deps, report: AuditReport): Promise<void> => {
  let lastUser = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const chunk = await store.transaction(async (session) => {
      const wallets = await store.wallets.after(lastUser, WALLETS, session);
      const users = wallets.map(({ userId }) => userId);
      return { wallets, ...(await recomputed({ store }, users, session)) };
    });
    for (const wallet of chunk.wallets) {
      const { userId } = wallet;
      judge(differenceOfWallet(wallet, chunk.byPayments.get(userId) ?? 0n, chunk.byRows.get(userId) ?? 0n));
      report.wallets += 1;
      lastUser = userId;
    }
    if (chunk.wallets.length < WALLETS) return;
  }
};

interface Sums {
  byPayments: Map<number, bigint>;
  byRows: Map<number, bigint>;
}

const add = (sums: Map<number, bigint>, userId: number | undefined, amount: number): void => {
  const sum = userId === undefined ? undefined : sums.get(userId);
  if (userId !== undefined && sum !== undefined) sums.set(userId, sum + BigInt(amount));
};

/**
 * What the payments and the rows of these users add up to, read as a stream. The rows are found by the payments: that
 * no entry moves a wallet without a payment of its user is what the entries were judged by.
 */
const recomputed = async (
  { store }: Pick<Deps, 'store'>,
  userIds: readonly number[],
  session: ClientSession,
): Promise<Sums> => {
  const sums: Sums = {
    byPayments: new Map(userIds.map((userId) => [userId, 0n])),
    byRows: new Map(userIds.map((userId) => [userId, 0n])),
  };
  if (userIds.length === 0) return sums;
  const addEntries = entryAdder({ store }, sums.byRows, session);
  let payments: Payment[] = [];
  for await (const payment of store.payments.ofUsers(userIds, session)) {
    add(sums.byPayments, payment.userId, balanceEffect(payment));
    payments.push(payment);
    if (payments.length < ROWS) continue;
    await addEntries(payments);
    payments = [];
  }
  await addEntries(payments);
  return sums;
};

/**
 * Adds the rows of the entries of payments that come user by user, each entry once for each of its users: its payments
 * have ids that follow one another, so that no more than the last two handfuls can name it.
 */
const entryAdder = (
  { store }: Pick<Deps, 'store'>,
  byRows: Map<number, bigint>,
  session: ClientSession,
): ((payments: readonly Payment[]) => Promise<void>) => {
  let before = new Set<string>();
  return async (payments) => {
    const owners = new Map(payments.map(({ id, userId }) => [id, userId]));
    const seen = new Set<string>();
    for (const { key, paymentIds, rows } of await store.entries.ofPayments([...owners.keys()], session))
      for (const userId of new Set(paymentIds.flatMap((id) => owners.get(id) ?? []))) {
        const name = `${userId} ${key}`;
        seen.add(name);
        if (before.has(name)) continue;
        for (const { account, amount } of rows)
          if (walletOwner(account) === userId) add(byRows, userId, amount);
      }
    before = seen;
  };
};
