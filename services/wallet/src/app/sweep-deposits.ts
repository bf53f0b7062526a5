/** Deposits whose callback never came: the gateway is asked about each, until it is credited, closed or expired. */
import { nextCheckAt } from '../domain/deposit.ts';
import type { WalletDeps } from './deps.ts';
import type { SettleDeposit } from './settle-deposit.ts';

const BATCH = 50;

export interface SweepResult {
  asked: number;
  credited: number;
}

/** One round. Each deposit is taken before it is asked about, so that replicas share the work. */
export type SweepDeposits = () => Promise<SweepResult>;

export const createSweepDeposits =
  (deps: Pick<WalletDeps, 'store' | 'clock' | 'log'>, settleDeposit: SettleDeposit): SweepDeposits =>
  async () => {
    const { store, clock, log } = deps;
    const result = { asked: 0, credited: 0 };
    for (const due of await store.payments.dueDeposits(clock.now(), BATCH)) {
      const now = clock.now();
      if (!(await store.payments.claimDeposit(due.id, now, nextCheckAt(due.createdAt, now)))) continue;
      result.asked += 1;
      try {
        const settled = await settleDeposit(due);
        if (settled.isDone) result.credited += 1;
      } catch (error) {
        log.warn({ err: error, payment_id: due.id }, 'a deposit could not be asked about; it will be again');
      }
    }
    return result;
  };
