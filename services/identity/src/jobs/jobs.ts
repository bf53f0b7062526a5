/** The background jobs of identity. */
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import type { Job } from '@fitness/shared/runtime/jobs.ts';
import type { IdentityConfig } from '../config.ts';
import type { UseCases } from '../use-cases.ts';

const RENEWAL_MS = 10 * MINUTE_MS;

export const createJobs = (useCases: UseCases, config: IdentityConfig): Job[] => [
  { name: 'purge accounts', intervalMs: config.PURGE_INTERVAL_MS, run: useCases.purgeAccounts },
  { name: 'settle erasures', intervalMs: MINUTE_MS, run: useCases.settleErasures },
  ...(config.PREVIOUS_SECOND_FACTOR_KEY === undefined
    ? []
    : [{ name: 'renew second factors', intervalMs: RENEWAL_MS, run: useCases.renewSecondFactors }]),
];
