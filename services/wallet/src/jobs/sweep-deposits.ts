import { SECOND_MS } from '@fitness/shared/clock.ts';
import type { Job } from '@fitness/shared/service.ts';
import type { SweepDeposits } from '../app/sweep-deposits.ts';

/** Asks the bank gateway about deposits whose callback never came. */
export const sweepDepositsJob = (sweepDeposits: SweepDeposits, intervalS: number): Job => ({
  name: 'sweep deposits',
  intervalMs: intervalS * SECOND_MS,
  run: sweepDeposits,
});
