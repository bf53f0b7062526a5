/** Every recurring job of the wallet. */
import type { Job } from '@fitness/shared/runtime/service-runtime.ts';
import type { UseCases } from '../use-cases.ts';
import { sealLedgerJob } from './seal-ledger.ts';
import { sweepDepositsJob } from './sweep-deposits.ts';

interface Intervals {
  DEPOSIT_SWEEP_SECONDS: number;
  LEDGER_SEAL_SECONDS: number;
}

export const createJobs = (
  { sweepDeposits, sealLedger }: Pick<UseCases, 'sweepDeposits' | 'sealLedger'>,
  { DEPOSIT_SWEEP_SECONDS, LEDGER_SEAL_SECONDS }: Intervals,
): Job[] => [
  sweepDepositsJob(sweepDeposits, DEPOSIT_SWEEP_SECONDS),
  sealLedgerJob(sealLedger, LEDGER_SEAL_SECONDS),
];
