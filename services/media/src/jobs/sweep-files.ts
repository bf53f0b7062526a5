import type { Job } from '@fitness/shared/service.ts';
import { type SweepParts, sweepFiles } from '../app/sweep-files.ts';

export const createSweepJob = (parts: SweepParts, intervalMs: number): Job => ({
  name: 'sweep files',
  intervalMs,
  run: () => sweepFiles(parts),
});
