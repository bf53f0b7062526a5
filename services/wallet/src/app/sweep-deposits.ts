/** Verifies open deposits whose callback did not arrive, until they are credited, closed or expired. */
import type { Dependencies } from '../dependencies.ts';
import { nextCheckAt } from '../domain/deposit.ts';
import type { SettleDeposit } from './settle-deposit.ts';

const BATCH = 50;

interface SweepResult {
  verified: number;
  credited: number;
}

/** Runs one round. Each deposit is claimed before it is verified, so replicas share the work. */
export type SweepDeposits = () => Promise<SweepResult>;

export const createSweepDeposits =
  ({
    store,
    clock,
    log,
    settleDeposit,
  }: Pick<Dependencies, 'store' | 'clock' | 'log'> & { settleDeposit: SettleDeposit }): SweepDeposits =>
  async () => {
    const result = { verified: 0, credited: 0 };
    for (const due of await store.payments.dueDeposits(clock.now(), BATCH)) {
      const now = clock.now();
      if (!(await store.payments.claimDeposit(due.id, now, nextCheckAt(due.createdAt, now)))) continue;
      result.verified += 1;
      try {
        const settled = await settleDeposit(due);
        if (settled.isDone) result.credited += 1;
      } catch (error) {
        log.warn({ err: error, payment_id: due.id }, 'a deposit could not be verified yet');
      }
    }
    return result;
  };
