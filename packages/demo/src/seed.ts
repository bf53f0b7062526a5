/**
 * Creates the demo data through the public API when every service is ready. It can be repeated, even after a crash. If the
 * data is already complete, only identity is needed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { createDemoApi } from './api.ts';
import { areComplete, type SeedOptions, seedAccounts } from './seed-accounts.ts';

const POLL_MS = 200;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;
/** On a normal start, every service is ready within this time. */
const WAIT_FOR_ALL_MS = 5_000;

interface DemoSeedOptions {
  /** Origin of the gateway, as the caller reaches it. */
  apiUrl: string;
  sandboxUrl: string | undefined;
  administrator: SeedOptions['administrator'];
  servicesReady(): Promise<boolean>;
  identityReady(): Promise<boolean>;
  log: Logger;
}

/** Runs in the background, with retries, until the demo data is complete. */
export const startDemoSeed = (options: DemoSeedOptions) => {
  const { apiUrl, sandboxUrl, administrator, log } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const api = createDemoApi({ apiUrl, sandboxUrl, signal });
  let done = false;

  /** Resolves with false when every service is ready, or with true when some are not but the data is already complete. */
  const waitForServices = async (): Promise<boolean> => {
    const startedAt = performance.now();
    let isChecked = false;
    while (!(await options.servicesReady())) {
      const isLate = performance.now() - startedAt >= WAIT_FOR_ALL_MS;
      if (isLate && !isChecked && (await options.identityReady())) {
        isChecked = true;
        if (await areComplete({ api, log })) return true;
      }
      await sleep(POLL_MS, undefined, { signal });
    }
    return false;
  };

  const run = async (): Promise<void> => {
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
      if (await waitForServices()) {
        done = true;
        log.info('the demo data is complete; some services are not ready');
        return;
      }
      const startedAt = performance.now();
      try {
        await seedAccounts({ api, administrator, hasBank: sandboxUrl !== undefined, log });
        done = true;
        log.info({ ms: Math.round(performance.now() - startedAt) }, 'the demo data is complete');
        return;
      } catch (error) {
        signal.throwIfAborted();
        log.error({ err: error }, 'creating the demo data failed; it is retried');
        await sleep(delayMs, undefined, { signal });
      }
    }
  };

  const running = run().catch((error) => {
    if (!signal.aborted) log.error({ err: error }, 'creating the demo data ended');
  });
  return {
    isDone: (): boolean => done,
    /** Aborts the seed. */
    stop: async (): Promise<void> => {
      stopping.abort();
      await running;
    },
  };
};
