/** The background jobs of identity. */
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import type { Job } from '@fitness/shared/runtime/jobs.ts';
import type { UseCases } from '../use-cases.ts';

export const createJobs = ({ purgeAccounts, settleErasures }: UseCases, intervalMs: number): Job[] => [
  { name: 'purge accounts', intervalMs, run: purgeAccounts },
  { name: 'settle erasures', intervalMs: MINUTE_MS, run: settleErasures },
];
