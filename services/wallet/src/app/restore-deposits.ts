/**
 * After a restore of a backup: deposits that were opened since are opened again, and all open ones are settled by the bank gateway's
 * answer as at a callback. Before the gateway starts. Repeatable: a track id belongs to one deposit.
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
 * A state: as every deposit of this state; what is still `open` is verified by the sweep. `no_account`: the account is erased, or
 * younger than the backup; nothing is stored.
 */
export type RestoredDepositState = GatewayState | 'no_account';

export interface RestoredDeposit extends OpenedDeposit {
  state: RestoredDepositState;
}

type RestoreDepositsDependencies = Pick<
  Dependencies,
  'store' | 'users' | 'clock' | 'log' | 'depositJournal'
> & { settleDeposit: SettleDeposit };

/** Those of the journal that the database did not have, or had as open. */
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

  /** Undefined for one that needs nothing. */
  const restore = async (deposit: OpenedDeposit): Promise<RestoredDepositState | undefined> => {
    const known = await store.payments.findByTrackId(deposit.track_id);
    if (known !== undefined && known.gateway?.state !== 'open') return undefined;
    const opened = known ?? (await openAgain(deposit));
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
    // Before anything gets an id: the payers know these ones.
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
