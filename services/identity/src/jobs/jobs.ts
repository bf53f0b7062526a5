/** The background jobs of identity. */
import type { Job } from '@fitness/shared/runtime/service-runtime.ts';
import type { UseCases } from '../use-cases.ts';

export const createJobs = ({ purgeAccounts }: Pick<UseCases, 'purgeAccounts'>, intervalMs: number): Job[] => [
  { name: 'purge accounts', intervalMs, run: purgeAccounts },
];
