/** Work that a request begins and does not wait for; the process waits for it before it ends. */
import type { Logger } from '@fitness/shared/log.ts';

export interface Background {
  /** Starts now. A failure is logged: whatever runs here is repeated by a job. */
  run(name: string, work: () => Promise<unknown>): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

export const createBackground = (log: Logger): Background => {
  const underWay = new Set<Promise<void>>();
  return {
    run: (name, work) => {
      const running: Promise<void> = work()
        .then(() => undefined)
        .catch((error: unknown) => log.warn({ err: error, work: name }, 'work in the background failed'))
        .finally(() => underWay.delete(running));
      underWay.add(running);
    },
    idle: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
};
