import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Job } from '@fitness/shared/runtime/service-runtime.ts';
import type { SweepDeposits } from '../app/sweep-deposits.ts';

export const sweepDepositsJob = (sweepDeposits: SweepDeposits, intervalS: number): Job => ({
  name: 'sweep deposits',
  intervalMs: intervalS * SECOND_MS,
  run: sweepDeposits,
});
