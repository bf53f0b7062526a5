/** Work that a service repeats, one round at a time. */
import type { AuditLog } from '../audit/log.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';

export interface Job {
  name: string;
  intervalMs: number;
  /**
   * One round. It must be safe with several replicas and after a crash. A failure is logged; the next round follows.
   * `stopping` is aborted when the process ends; a long round should then end early.
   */
  run(stopping: AbortSignal): Promise<unknown>;
}

const AUDIT_SEAL_MS = SECOND_MS;

export const sealJob = (audit: AuditLog): Job => ({
  name: 'seal audit log',
  intervalMs: AUDIT_SEAL_MS,
  run: () => audit.sealIfNeeded(),
});

interface StartedJob {
  /** Begins a round, or another one after the round that is running. */
  runNow(): void;
  /** Waits for the current round. */
  stop(): Promise<void>;
}

/** Runs one round at a time. */
export const startJob = (job: Job, log: Logger): StartedJob => {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<unknown> | undefined;
  let isDue = false;
  const stopping = new AbortController();
  // Async: a job that throws synchronously must not end the process.
  const attempt = async (): Promise<unknown> => job.run(stopping.signal);
  const runNow = (): void => {
    isDue = true;
    if (round !== undefined || stopping.signal.aborted) return;
    clearTimeout(timer);
    isDue = false;
    round = attempt()
      .catch((error) => log.error({ err: error, job: job.name }, 'job failed'))
      .finally(() => {
        round = undefined;
        if (!stopping.signal.aborted) schedule();
      });
  };
  const schedule = (): void => {
    timer = setTimeout(runNow, isDue ? 0 : job.intervalMs);
  };
  schedule();
  return {
    runNow,
    stop: async () => {
      stopping.abort();
      clearTimeout(timer);
      await round;
    },
  };
};
