import { HOUR_MS } from '@fitness/shared/clock.ts';
import type { Job } from '@fitness/shared/service.ts';
import { type SweepParts, sweepFiles } from '../app/sweep-files.ts';

export const createSweepJob = (parts: SweepParts): Job => ({
  name: 'sweep files',
  intervalMs: HOUR_MS,
  run: () => sweepFiles(parts),
});
