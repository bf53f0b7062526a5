/**
 * How a process starts and ends. What is opened registers its own closing where it is opened; closing unwinds in
 * reverse, under one deadline.
 */
import { ConfigError } from './config.ts';
import type { Logger } from './log.ts';

const EXIT_CONFIG = 78;
/** An orchestrator kills after ten seconds; the rest is for what runs before and after the closing. */
export const SHUTDOWN_DEADLINE_MS = 9_000;

export interface Cleanup {
  /** Registers `close`; the last registered is closed first. */
  defer(name: string, close: () => Promise<unknown> | unknown): void;
  /** Closes everything once; a failing closer is logged and does not stop the others. */
  close(): Promise<void>;
}

export const createCleanup = (log?: Logger): Cleanup => {
  const closers: { name: string; close: () => Promise<unknown> | unknown }[] = [];
  let closing: Promise<void> | undefined;
  const unwind = async (): Promise<void> => {
    for (let next = closers.pop(); next !== undefined; next = closers.pop()) {
      try {
        await next.close();
      } catch (error) {
        log?.warn({ err: error, part: next.name }, 'closing a part failed');
      }
    }
  };
  return {
    defer: (name, close) => void closers.push({ name, close }),
    close: () => {
      closing ??= unwind();
      return closing;
    },
  };
};

/** A promise that settles after `durationMs` without keeping the process alive. */
const expire = (durationMs: number): Promise<'late'> =>
  new Promise((resolve) => {
    setTimeout(() => resolve('late'), durationMs).unref();
  });

/**
 * The whole life of a process: starts `open`, waits for SIGTERM or SIGINT, closes, and exits 0. A wrong configuration
 * is one line and exit 78; anything else that fails at start, or is thrown later and caught by nobody, is exit 1. A
 * rejection that nobody handles is logged, and the process goes on.
 */
export const runProcess = async (
  open: () => Promise<{ close(): Promise<void>; log: Logger }>,
  deadlineMs = SHUTDOWN_DEADLINE_MS,
): Promise<void> => {
  let running: { close(): Promise<void>; log: Logger };
  let stopAsked = false;
  let stop = (): void => {
    stopAsked = true;
    // The start may be waiting for a server that never comes.
    void expire(deadlineMs).then(() => process.exit(0));
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop());
  try {
    running = await open();
  } catch (error) {
    if ((error as { name?: unknown } | null)?.name === new ConfigError().name) {
      process.stderr.write(`${(error as Error).message}\n`);
      process.exit(EXIT_CONFIG);
    }
    process.stderr.write(`could not start: ${(error as Error)?.stack ?? String(error)}\n`);
    process.exit(1);
  }
  const { log } = running;
  stop = () => {
    if (stopAsked) return;
    stopAsked = true;
    const closed = running.close().catch((error: unknown) => log.error({ err: error }, 'closing failed'));
    void Promise.race([closed, expire(deadlineMs)]).then((outcome) => {
      if (outcome === 'late') log.error('shutdown took too long; exiting');
      process.exit(0);
    });
  };
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception');
    process.exit(1);
  });
  if (stopAsked) {
    stopAsked = false;
    stop();
  }
};
