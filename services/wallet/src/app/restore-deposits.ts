/**
 * Runs after a backup was restored, before the API gateway starts. Reopens the deposits that were opened since the backup, and
 * settles all open ones as a callback would. Repeatable, because a track id belongs to one deposit.
 */
import { isAccountOf } from '@fitness/contracts/user.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { Dependencies } from '../dependencies.ts';
import { nextCheckAt } from '../domain/deposit.ts';
import { depositOf, type OpenedDeposit } from '../domain/journal.ts';
import type { GatewayState, Payment } from '../domain/payment.ts';
import type { SettleDeposit } from './settle-deposit.ts';

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
  'store' | 'users' | 'clock' | 'log' | 'depositJournal'
> & { settleDeposit: SettleDeposit };

/** Returns the journal's deposits that were missing from the database, or open in it. */
export type RestoreDeposits = (progress: Progress) => Promise<RestoredDeposit[]>;

export const createRestoreDeposits = (dependencies: RestoreDepositsDependencies): RestoreDeposits => {
  const { store, users, clock, log, depositJournal, settleDeposit } = dependencies;

  const openAgain = async (deposit: OpenedDeposit): Promise<Payment | undefined> => {
    if (!(await isAccountOf(users, deposit.user_id, deposit.opened_at))) return undefined;
    const isTaken = (await store.payments.find(deposit.payment_id)) !== undefined;
    const now = clock.now();
    const payment = depositOf(deposit, {
      paymentId: isTaken ? await store.payments.nextId() : deposit.payment_id,
      checkAt: nextCheckAt(now, now),
    });
    return store.transaction(async (session) => {
      if (!(await store.wallets.lockUnlessErased(session, payment.userId))) return undefined;
      await store.payments.insert(session, payment);
      return payment;
    });
  };

  /** Undefined for a deposit that is no longer open. */
  const restore = async (deposit: OpenedDeposit): Promise<RestoredDepositState | undefined> => {
    const existing = await store.payments.findByTrackId(deposit.track_id);
    if (existing !== undefined && existing.gateway?.state !== 'open') return undefined;
    const opened = existing ?? (await openAgain(deposit));
    if (opened === undefined) return 'no_account';
    const settled = await settleDeposit(opened).catch((error: unknown) => {
      if (!isAppError(error)) throw error;
      log.warn({ err: error, payment_id: opened.id }, 'a deposit could not be verified yet');
      return opened;
    });
    return settled.gateway?.state ?? 'open';
  };

  return async (progress) => {
    const deposits = new Map<string, OpenedDeposit>();
    for await (const { content } of depositJournal.entries('begun')) deposits.set(content.track_id, content);
    progress.expect(deposits.size);
    // Done before any payment gets an id, because payers have already seen these ids.
    const newest = [...deposits.values()].reduce((last, { payment_id: id }) => Math.max(last, id), 0);
    await store.payments.skipIds(newest);
    const restored: RestoredDeposit[] = [];
    for (const deposit of deposits.values()) {
      progress.advance('deposits of the journal');
      const state = await restore(deposit);
      if (state !== undefined) restored.push({ ...deposit, state });
    }
    return restored;
  };
};
