/** Verifies deposits whose callback did not arrive: a closed order may be paid until it ends at the gateway (`LOOK_ENDS_MS`). */
import type { Dependencies } from '../dependencies.ts';
import { nextCheckAt } from '../domain/deposit.ts';
import type { HoldCredits } from './hold-credits.ts';
import type { SettleDeposit } from './settle-deposit.ts';

const BATCH = 50;
/** Further batches follow at once while one is full, so that hourly looks are kept. More wait for the next round. */
const MAX_BATCHES = 20;

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
    holdCredits,
  }: Pick<Dependencies, 'store' | 'clock' | 'log'> & {
    settleDeposit: SettleDeposit;
    holdCredits: HoldCredits;
  }): SweepDeposits =>
  async () => {
    await holdCredits();
    const result = { verified: 0, credited: 0 };
    for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
      const deposits = await store.payments.dueDeposits(clock.now(), BATCH);
      for (const due of deposits) {
        const now = clock.now();
        if (!(await store.payments.claimDeposit(due.id, now, nextCheckAt(due, now)))) continue;
        result.verified += 1;
        try {
          const settled = await settleDeposit(due);
          if (settled.isDone) result.credited += 1;
        } catch (error) {
          log.warn({ err: error, payment_id: due.id }, 'a deposit could not be verified yet');
        }
      }
      if (deposits.length < BATCH) break;
    }
    return result;
  };
