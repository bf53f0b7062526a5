/**
 * Runs after a backup was restored, before the API gateway starts. Reopens the deposits that were opened since the backup, and
 * settles all open ones as a callback would. Repeatable, because a track id belongs to one deposit.
 */
import { isAccountOf } from '@fitness/contracts/user.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { Dependencies } from '../dependencies.ts';
import { EXPIRES_MS, LOOK_ENDS_MS, nextCheckAt } from '../domain/deposit.ts';
import { depositOf, type OpenedDeposit } from '../domain/journal.ts';
import type { GatewayState, Payment } from '../domain/payment.ts';
import { depositEntry, type SettleDeposit } from './settle-deposit.ts';

/**
 * The state of the deposit afterwards. The sweep verifies the ones that are still `open`. `no_account`: nothing is stored,
 * because the account is erased or younger than the backup.
 */
export type RestoredDepositState = GatewayState | 'no_account';

export interface RestoredDeposit extends OpenedDeposit {
  state: RestoredDepositState;
}

type RestoreDepositsDependencies = Pick<
  Dependencies,
  'store' | 'users' | 'clock' | 'log' | 'depositJournal' | 'payoutJournal'
> & { settleDeposit: SettleDeposit };

/**
 * Returns the journal's deposits that the backup lacks or has as open, even if the sweep was faster. The time of the backup tells which
 * it has settled: a closed deposit has no such time, and is returned if it may have been open then. Without it, those that the sweep has
 * settled are left out.
 */
export type RestoreDeposits = (
  progress: Progress,
  backedUpAt: Date | undefined,
) => Promise<RestoredDeposit[]>;

export const createRestoreDeposits = (dependencies: RestoreDepositsDependencies): RestoreDeposits => {
  const { store, users, clock, log, depositJournal, payoutJournal, settleDeposit } = dependencies;

  const openAgain = async (deposit: OpenedDeposit): Promise<Payment | undefined> => {
    if (!(await isAccountOf(users, deposit.user_id, deposit.opened_at))) return undefined;
    const isTaken = (await store.payments.find(deposit.payment_id)) !== undefined;
    const now = clock.now();
    const payment = depositOf(deposit, {
      paymentId: isTaken ? await store.payments.nextId() : deposit.payment_id,
      checkAt: nextCheckAt({ createdAt: now, gateway: null }, now),
    });
    return store.transaction(async (session) => {
      if (!(await store.wallets.lockUnlessErased(session, payment.userId))) return undefined;
      await store.payments.insert(session, payment);
      return payment;
    });
  };

  /** Whether a deposit that is not open any more may have been open or unpaid at this time. */
  const wasOpenAt = async (payment: Payment, at: Date | undefined): Promise<boolean> => {
    if (at === undefined || payment.gateway?.state === 'returned') return false;
    // A closed deposit is disputed if its last looks find a payment that does not match.
    const agedMs = payment.gateway?.state === 'mismatch' ? LOOK_ENDS_MS : EXPIRES_MS;
    if (!payment.isDone) return payment.createdAt.getTime() > at.getTime() - agedMs;
    const booked = await store.entries.find(depositEntry(payment).key);
    return booked !== undefined && booked.bookedAt >= at;
  };

  /** Undefined for a deposit that the backup has as settled. */
  const restore = async (
    deposit: OpenedDeposit,
    backedUpAt: Date | undefined,
  ): Promise<RestoredDepositState | undefined> => {
    const existing = await store.payments.findByTrackId(deposit.track_id);
    if (existing !== undefined && existing.gateway?.state !== 'open')
      return (await wasOpenAt(existing, backedUpAt)) ? existing.gateway?.state : undefined;
    const opened = existing ?? (await openAgain(deposit));
    if (opened === undefined) return 'no_account';
    const settled = await settleDeposit(opened, { isRestore: true }).catch((error: unknown) => {
      if (!isAppError(error)) throw error;
      log.warn({ err: error, payment_id: opened.id }, 'a deposit could not be verified yet');
      return opened;
    });
    return settled.gateway?.state ?? 'open';
  };

  return async (progress, backedUpAt) => {
    const deposits = new Map<string, OpenedDeposit>();
    for await (const { content } of depositJournal.entries('begun')) deposits.set(content.track_id, content);
    progress.expect(deposits.size);
    // Done before any payment gets an id, because payers and operators have already seen these ids.
    let newest = [...deposits.values()].reduce((last, { payment_id: id }) => Math.max(last, id), 0);
    for await (const { content } of payoutJournal.entries('begun'))
      newest = Math.max(newest, content.payment_id);
    await store.payments.skipIds(newest);
    const restored: RestoredDeposit[] = [];
    for (const deposit of deposits.values()) {
      progress.advance('deposits of the journal');
      const state = await restore(deposit, backedUpAt);
      if (state !== undefined) restored.push({ ...deposit, state });
    }
    return restored;
  };
};
