/** Counts what a command expects and does. */
import type { Progress } from '../kernel/progress.mjs';

export const countedProgress = (): Progress & { counts: { expected: number; done: number } } => {
  const counts = { expected: 0, done: 0 };
  return {
    counts,
    expect: (parts) => {
      counts.expected += parts;
    },
    advance: (_now, parts = 1) => {
      counts.done += parts;
    },
  };
};
