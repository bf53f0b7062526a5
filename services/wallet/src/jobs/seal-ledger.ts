import { SECOND_MS } from '@fitness/shared/clock.ts';
import type { Job } from '@fitness/shared/service.ts';
import type { SealLedger } from '../app/seal-ledger.ts';

/** Chains what was booked since the last round, and tells of it. */
export const sealLedgerJob = (sealLedger: SealLedger, intervalS: number): Job => ({
  name: 'seal ledger',
  intervalMs: intervalS * SECOND_MS,
  run: sealLedger,
});
