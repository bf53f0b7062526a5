/**
 * Checks all data against the rules in domain/audit.ts, in chunks to limit memory. Each chunk is read from one snapshot, so
 * concurrent bookings cause no false differences.
 */
import { NO_PROGRESS, type Progress } from '@fitness/shared/kernel/progress.mjs';
import type { Difference, NotedHead, Seal } from '@fitness/shared/kernel/seal.ts';
import { checkSeals } from '@fitness/shared/mongo/check-seals.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  differenceOfBookings,
  differenceOfEntry,
  differenceOfHold,
  differenceOfIncomes,
  differenceOfWallet,
} from '../domain/audit.ts';
import { purchaseKeyOf } from '../domain/booking-rules.ts';
import { isPlatformAccount, type PlatformAccount, walletOwner } from '../domain/ledger.ts';
import { type BookedEntry, isIntact } from '../domain/seal.ts';
import { recomputed } from './recompute-wallets.ts';

/** Chunk sizes. */
const ROWS = 500;
const WALLETS = 100;
const MAX_DISPUTED = 20;
export const MAX_ERASED = 100;

export interface AuditReport {
  seals: number;
  entries: number;
  payments: number;
  wallets: number;
  /** The newest seal as `number:hash`; undefined when nothing is sealed. */
  head: string | undefined;
  /** Entries that were not sealed when the audit began. */
  unsealed: number;
  /** One sum per platform account, and one for all wallets. Together they add up to 0. */
  accounts: Record<PlatformAccount | 'wallets', bigint>;
  /** The newest payments in state `mismatch`. No balance includes them. */
  disputedDeposits: { ids: readonly number[]; areAll: boolean };
  /** Erased accounts with a balance, which nobody can use; one more than {@link MAX_ERASED} at most. */
  erasedWithBalance: { userId: number; balance: number }[];
  /** The first difference found; undefined when there is none. */
  difference: Difference;
}

/** Stops at the first difference. `noted` is the head of an earlier audit, which the chain must still contain. */
export type AuditWallets = (noted?: NotedHead, progress?: Progress) => Promise<AuditReport>;

type AuditDependencies = Pick<Dependencies, 'store' | 'seals'>;

const ZERO_ACCOUNTS: AuditReport['accounts'] = {
  gateway_clearing: 0n,
  store_clearing: 0n,
  gateway_fees: 0n,
  held_withdrawals: 0n,
  erased_credits: 0n,
  revenue: 0n,
  commission: 0n,
  vat: 0n,
  wallets: 0n,
};

/** Thrown to end the audit. */
class DifferenceFound extends Error {
  override name = 'DifferenceFound';
}

const assertNoDifference = (difference: Difference): void => {
  if (difference !== undefined) throw new DifferenceFound(difference);
};

export const createAuditWallets =
  ({ store, seals }: AuditDependencies): AuditWallets =>
  async (noted, progress = NO_PROGRESS) => {
    const disputed = await store.payments.openDisputes({
      mode: 'cursor',
      perPage: MAX_DISPUTED,
      after: [Number.MAX_SAFE_INTEGER],
    });
    const report: AuditReport = {
      seals: 0,
      entries: 0,
      payments: 0,
      wallets: 0,
      head: undefined,
      unsealed: await store.entries.countUnsealed(),
      accounts: { ...ZERO_ACCOUNTS },
      disputedDeposits: {
        ids: disputed.rows.map(({ id }) => id),
        areAll: disputed.next === undefined,
      },
      erasedWithBalance: [],
      difference: undefined,
    };
    try {
      progress.expect(await partsOf({ store }));
      const checked = await checkSeals(
        {
          seals,
          isIntact,
          recordsOf: (seal) => store.transaction((session) => sealed({ store }, seal, session)),
          progress,
        },
        noted,
      );
      report.seals = checked.seals;
      report.head = checked.head;
      assertNoDifference(checked.difference);
      await checkEntries({ store, seals }, report, progress);
      await checkPayments({ store }, report, progress);
      await checkWallets({ store }, report, progress);
      const total = Object.values(report.accounts).reduce((all, amount) => all + amount, 0n);
      assertNoDifference(total === 0n ? undefined : `all rows together are off by ${total}`);
    } catch (error) {
      if (!(error instanceof DifferenceFound)) throw error;
      report.difference = error.message;
    }
    return report;
  };

/**
 * Number of progress steps. Each entry is read twice: with its seal and on its own. So is each payment: on its own and
 * with its wallet.
 */
const partsOf = async ({ store }: Pick<Dependencies, 'store'>): Promise<number> =>
  2 * ((await store.entries.estimate()) + (await store.payments.estimate()));

/** The entries listed in a seal, and those marked with its number. */
const sealed = async (
  { store }: Pick<Dependencies, 'store'>,
  { number, leaves }: Seal,
  session: ClientSession,
): Promise<BookedEntry[]> => {
  const listed = await store.entries.findMany(
    leaves.map(({ key }) => key),
    session,
  );
  const keys = new Set(listed.map(({ key }) => key));
  const marked = await store.entries.ofSeal(number, session);
  return [...listed, ...marked.filter(({ key }) => !keys.has(key))];
};

const ownersOf = ({ rows }: BookedEntry): number[] =>
  rows.flatMap(({ account }) => walletOwner(account) ?? []);

const checkEntries = async (
  { store, seals }: AuditDependencies,
  report: AuditReport,
  progress: Progress,
): Promise<void> => {
  let lastKey = '';
  // `checkSeals` has verified that the seals are numbered from 1 without gaps, so their count is the newest number.
  let lastSeal = report.seals;
  for (;;) {
    const chunk = await store.transaction(async (session) => {
      const entries = await store.entries.after(lastKey, ROWS, session);
      const refunded = entries.flatMap(({ key }) => purchaseKeyOf(key) ?? []);
      const purchases = await store.entries.findMany(refunded, session);
      const payments = await store.payments.findMany(
        [...entries, ...purchases].flatMap(({ paymentIds }) => paymentIds),
        session,
      );
      const owners = await store.wallets.owners(entries.flatMap(ownersOf), session);
      return {
        entries,
        owners,
        payments: new Map(payments.map((payment) => [payment.id, payment])),
        purchases: new Map(purchases.map(({ key, paymentIds }) => [key, paymentIds])),
      };
    });
    // Read after the entries, because a seal is written before its entries are marked.
    lastSeal = (await seals.newest(lastSeal))?.number ?? 0;
    for (const entry of chunk.entries) {
      assertNoDifference(differenceOfEntry(entry, chunk.payments, chunk.owners, lastSeal));
      const paymentsOf = (ids: readonly number[]) => ids.flatMap((id) => chunk.payments.get(id) ?? []);
      const purchases = chunk.purchases.get(purchaseKeyOf(entry.key) ?? '') ?? [];
      assertNoDifference(differenceOfIncomes(entry, paymentsOf(entry.paymentIds), paymentsOf(purchases)));
      addRows(report, entry);
      report.entries += 1;
      lastKey = entry.key;
    }
    progress.advance('entries', chunk.entries.length);
    if (chunk.entries.length < ROWS) return;
  }
};

const addRows = ({ accounts }: AuditReport, { rows }: BookedEntry): void => {
  for (const { account, amount } of rows)
    accounts[isPlatformAccount(account) ? account : 'wallets'] += BigInt(amount);
};

const checkPayments = async (
  { store }: Pick<Dependencies, 'store'>,
  report: AuditReport,
  progress: Progress,
): Promise<void> => {
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
      assertNoDifference(differenceOfBookings(payment, entries));
      assertNoDifference(differenceOfHold(payment, entries));
      report.payments += 1;
      lastId = payment.id;
    }
    progress.advance('payments', chunk.payments.length);
    if (chunk.payments.length < ROWS) return;
  }
};

const checkWallets = async (
  { store }: Pick<Dependencies, 'store'>,
  report: AuditReport,
  progress: Progress,
): Promise<void> => {
  let lastUser = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const chunk = await store.transaction(async (session) => {
      const wallets = await store.wallets.after(lastUser, WALLETS, session);
      const users = wallets.map(({ userId }) => userId);
      return { wallets, ...(await recomputed({ store }, users, session)) };
    });
    for (const wallet of chunk.wallets) {
      const { userId, balance, erased } = wallet;
      if (erased && balance > 0 && report.erasedWithBalance.length <= MAX_ERASED)
        report.erasedWithBalance.push({ userId, balance });
      assertNoDifference(
        differenceOfWallet(wallet, chunk.byPayments.get(userId) ?? 0n, chunk.byRows.get(userId) ?? 0n),
      );
      report.wallets += 1;
      lastUser = userId;
    }
    progress.advance('payments of wallets', chunk.payments);
    if (chunk.wallets.length < WALLETS) return;
  }
};
