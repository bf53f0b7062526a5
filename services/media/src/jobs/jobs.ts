import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Job } from '@fitness/shared/runtime/jobs.ts';
import type { UseCases } from '../use-cases.ts';

export const createJobs = ({ sweepFiles }: UseCases, everySeconds: number): Job[] => [
  { name: 'sweep files', intervalMs: everySeconds * SECOND_MS, run: sweepFiles },
];
