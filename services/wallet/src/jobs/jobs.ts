import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Job } from '@fitness/shared/runtime/jobs.ts';
import type { WalletConfig } from '../config.ts';
import type { UseCases } from '../use-cases.ts';

export const createJobs = (
  { sweepDeposits, sealLedger }: UseCases,
  config: Pick<WalletConfig, 'DEPOSIT_SWEEP_SECONDS' | 'LEDGER_SEAL_SECONDS'>,
): Job[] => [
  { name: 'sweep deposits', intervalMs: config.DEPOSIT_SWEEP_SECONDS * SECOND_MS, run: sweepDeposits },
  { name: 'seal ledger', intervalMs: config.LEDGER_SEAL_SECONDS * SECOND_MS, run: sealLedger },
];
