/**
 * Start and shutdown of a process. Each resource registers its closing where it is opened; shutdown closes them in
 * reverse order, under one deadline.
 */
import type { GrpcServer } from '../grpc/server.ts';
import { ConfigError } from '../kernel/config.ts';
import type { Health } from '../kernel/health.ts';
import { type Logger, redactText } from '../kernel/log.ts';
import { finishesWithin, sleep } from '../kernel/timing.ts';

export const EXIT_CONFIG = 78;
/** For a process that has no configuration yet. It is less than the ten seconds after which an orchestrator kills it. */
export const SHUTDOWN_DEADLINE_MS = 9_000;

/** Time to close events, jobs and databases after the last response. */
const FLUSH_MS = 1_000;
const EXIT_MARGIN_MS = 500;
/** The least time for current requests. */
const LEAST_FINISH_MS = 1_000;

export interface ShutdownTimes {
  /** How long new requests are served. */
  drainMs: number;
  /** How long current requests may take after that. */
  finishMs: number;
  /** After this time the process exits in any case. */
  exitMs: number;
}

/** Throws ConfigError when too little time is left for current requests. */
export const shutdownTimes = ({
  DRAIN_MS,
  SHUTDOWN_GRACE_MS,
}: {
  DRAIN_MS: number;
  SHUTDOWN_GRACE_MS: number;
}): ShutdownTimes => {
  const exitMs = SHUTDOWN_GRACE_MS - EXIT_MARGIN_MS;
  const finishMs = exitMs - FLUSH_MS - DRAIN_MS;
  if (finishMs >= LEAST_FINISH_MS) return { drainMs: DRAIN_MS, finishMs, exitMs };
  const least = DRAIN_MS + LEAST_FINISH_MS + FLUSH_MS + EXIT_MARGIN_MS;
  throw new ConfigError(
    `Wrong configuration: SHUTDOWN_GRACE_MS: must be at least ${least} with this DRAIN_MS`,
  );
};

/** Reports that the process is stopping, and serves new requests for `drainMs`. */
export const drain = async (
  health: Pick<Health, 'markStopping'>,
  grpc: Pick<GrpcServer, 'markStopping'>,
  drainMs: number,
): Promise<void> => {
  health.markStopping();
  grpc.markStopping();
  if (drainMs > 0) await sleep(drainMs);
};

export interface Cleanup {
  /** Registers `close`; the last one registered runs first. */
  defer(name: string, close: () => Promise<unknown> | unknown): void;
  /** Runs all closers once; a failure is logged and does not stop the others. */
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
        log?.warn({ err: error, resource: next.name }, 'closing a resource failed');
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

interface Stoppable {
  close(): Promise<void>;
  log: Logger;
  /** How long `close` may take. */
  exitMs?: number;
}

export interface ServiceMode {
  /** Only prepares the database, and serves nothing. */
  upgradeOnly: boolean;
}

const UPGRADE = 'upgrade';

/**
 * The process of a service: {@link runProcess}. With the argument `upgrade` it prepares the database as a start does, and ends:
 * 0, 78 for an invalid configuration, 1 for any other failure.
 */
export const runService = async (open: (mode: ServiceMode) => Promise<Stoppable>): Promise<void> => {
  if (process.argv[2] !== UPGRADE) {
    await runProcess(async () => open({ upgradeOnly: false }));
    return;
  }
  try {
    const upgraded = await open({ upgradeOnly: true });
    await upgraded.close();
  } catch (error) {
    exitUnstarted(error);
  }
  process.exit(0);
};

const exitUnstarted = (error: unknown): never => {
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_CONFIG);
  }
  process.stderr.write(redactText(`could not start: ${(error as Error)?.stack ?? String(error)}\n`));
  process.exit(1);
};

/**
 * Runs `open`, waits for SIGTERM or SIGINT, closes, and exits 0. An invalid configuration prints one line and exits 78;
 * another failure at start, or an uncaught exception later, exits 1. An unhandled rejection is logged only.
 */
export const runProcess = async (
  open: () => Promise<Stoppable>,
  deadlineMs = SHUTDOWN_DEADLINE_MS,
): Promise<void> => {
  let running: Stoppable;
  let stopRequested = false;
  let stop = (): void => {
    stopRequested = true;
    // The start may be waiting for a server that is down, and cannot be closed yet.
    setTimeout(() => process.exit(0), deadlineMs).unref();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop());
  try {
    running = await open();
  } catch (error) {
    return exitUnstarted(error);
  }
  const { log, exitMs = deadlineMs } = running;
  stop = () => {
    if (stopRequested) return;
    stopRequested = true;
    const closed = running.close().catch((error: unknown) => log.error({ err: error }, 'closing failed'));
    void finishesWithin(closed, exitMs).then((finished) => {
      if (!finished) log.error('shutdown took too long; exiting');
      process.exit(0);
    });
  };
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception');
    process.exit(1);
  });
  if (stopRequested) {
    stopRequested = false;
    stop();
  }
};
