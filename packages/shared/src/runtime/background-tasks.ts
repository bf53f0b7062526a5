/** Tasks that a request starts and does not await. The process awaits them before it exits. */
import type { Logger } from '../kernel/log.ts';
import { outsideRequest } from '../kernel/request-scope.ts';

export interface BackgroundTasks {
  /**
   * Starts `task` now, without the deadline of the request. A failure is only logged, so a task that must succeed needs a
   * job that repeats it.
   */
  run(name: string, task: () => Promise<unknown>): void;
  /** Resolves when no task is running. */
  idle(): Promise<void>;
}

export const createBackgroundTasks = (log: Logger): BackgroundTasks => {
  const running = new Set<Promise<void>>();
  return {
    run: (name, task) => {
      // Async: a task that throws synchronously must not fail the request.
      const started: Promise<void> = outsideRequest(async () => task())
        .then(() => undefined)
        .catch((error: unknown) => log.warn({ err: error, task: name }, 'a background task failed'))
        .finally(() => running.delete(started));
      running.add(started);
    },
    idle: async () => {
      while (running.size > 0) await Promise.all(running);
    },
  };
};
