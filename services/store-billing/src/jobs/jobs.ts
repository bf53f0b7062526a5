/** What is done without being asked. Every round is safe with several replicas: each row is taken before it is worked on. */
import { MINUTE_MS, SECOND_MS } from '@fitness/shared/clock.ts';
import type { Job } from '@fitness/shared/service.ts';

export interface JobRounds {
  verifyAttempts: () => Promise<void>;
  acknowledgeAll: () => Promise<void>;
  lookAgain: () => Promise<void>;
  sweepWalletPurchases: () => Promise<void>;
  tellBoostEnds: () => Promise<void>;
}

export const createJobs = (rounds: JobRounds): Job[] => [
  { name: 'verify-attempts', intervalMs: 5 * SECOND_MS, run: rounds.verifyAttempts },
  { name: 'acknowledge', intervalMs: 5 * SECOND_MS, run: rounds.acknowledgeAll },
  { name: 'sweep-wallet-purchases', intervalMs: 5 * SECOND_MS, run: rounds.sweepWalletPurchases },
  { name: 'look-again', intervalMs: MINUTE_MS, run: rounds.lookAgain },
  { name: 'tell-boost-ends', intervalMs: 30 * SECOND_MS, run: rounds.tellBoostEnds },
];
