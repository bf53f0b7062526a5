/**
 * The background jobs of store-billing. Several replicas may run a round at the same time, because each row is claimed
 * before it is processed.
 */
import { MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Job } from '@fitness/shared/runtime/jobs.ts';
import type { UseCases } from '../use-cases.ts';

export type Rounds = Pick<
  UseCases,
  | 'verifyAttempts'
  | 'acknowledgePurchases'
  | 'sweepWalletPurchases'
  | 'reconcileRefunds'
  | 'publishBoostEnds'
  | 'announceExpiringSubscriptions'
>;

export const createJobs = (rounds: Rounds): Job[] => [
  { name: 'verify-attempts', intervalMs: 5 * SECOND_MS, run: rounds.verifyAttempts },
  { name: 'acknowledge-purchases', intervalMs: 5 * SECOND_MS, run: rounds.acknowledgePurchases },
  { name: 'sweep-wallet-purchases', intervalMs: 5 * SECOND_MS, run: rounds.sweepWalletPurchases },
  { name: 'reconcile-refunds', intervalMs: MINUTE_MS, run: rounds.reconcileRefunds },
  { name: 'publish-boost-ends', intervalMs: 30 * SECOND_MS, run: rounds.publishBoostEnds },
  {
    name: 'announce-expiring-subscriptions',
    intervalMs: 30 * SECOND_MS,
    run: rounds.announceExpiringSubscriptions,
  },
];
