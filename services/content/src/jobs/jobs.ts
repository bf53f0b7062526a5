import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Job } from '@fitness/shared/runtime/jobs.ts';
import type { UseCases } from '../use-cases.ts';

export const createJobs = (
  { finishPurchases, finishMoves, removeGonePosts }: UseCases,
  everySeconds: number,
): Job[] => [
  { name: 'finish purchases', intervalMs: everySeconds * SECOND_MS, run: finishPurchases },
  { name: 'finish changes of visibility', intervalMs: everySeconds * SECOND_MS, run: finishMoves },
  { name: 'remove gone posts', intervalMs: everySeconds * SECOND_MS, run: removeGonePosts },
];
