import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Job } from '@fitness/shared/runtime/service-runtime.ts';
import type { SealLedger } from '../app/seal-ledger.ts';

export const sealLedgerJob = (sealLedger: SealLedger, intervalS: number): Job => ({
  name: 'seal ledger',
  intervalMs: intervalS * SECOND_MS,
  run: sealLedger,
});
