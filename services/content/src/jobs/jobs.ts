/** What content does by itself from time to time; each round is safe with several replicas and after a crash. */
import { SECOND_MS } from '@fitness/shared/clock.ts';
import type { Job } from '@fitness/shared/service.ts';
import type { UseCases } from '../app/use-cases.ts';

export const createJobs = ({ finishPurchases, removeGonePosts }: UseCases, everySeconds: number): Job[] => [
  { name: 'finish purchases', intervalMs: everySeconds * SECOND_MS, run: finishPurchases },
  { name: 'remove gone posts', intervalMs: everySeconds * SECOND_MS, run: removeGonePosts },
];
