/** What identity does by itself from time to time. */
import type { Job } from '@fitness/shared/service.ts';
import type { PurgeAccounts } from '../app/purge-accounts.ts';

export const createJobs = (purgeAccounts: PurgeAccounts, intervalMs: number): Job[] => [
  { name: 'purge accounts', intervalMs, run: purgeAccounts },
];
