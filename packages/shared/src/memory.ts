/**
 * Gives memory back once a process rests. V8 keeps what it took for a start or for a rush of requests; several processes
 * on one machine want it back, and may yet have room to work in when there is work (`--max-semi-space-size`).
 */
import { performance } from 'node:perf_hooks';

const CHECK_INTERVAL_MS = 2_500;
/** The share of the last interval that the event loop was at work; jobs that look for work take a hundredth. */
const BUSY = 0.1;
const WORTH_BYTES = 8 * 1024 * 1024;
/** So many intervals without work are rest; a shorter pause between two rushes must not cost the second one its warmth. */
const RESTED_INTERVALS = 3;

export interface MemoryParts {
  /** Collects everything that can be collected; the process stands still meanwhile, for a tenth of a second or two. */
  collect: () => void;
  /** How much of the time since the last call the event loop was at work, from 0 to 1. */
  busy: () => number;
  residentBytes: () => number;
}

/**
 * What to do at each interval. Collects when the process was at rest for a while and has grown by 8 MiB or more since it last did,
 * so that who rests is not disturbed again.
 */
export const createMemoryReturn = ({ collect, busy, residentBytes }: MemoryParts): (() => void) => {
  let settledBytes = 0;
  let rested = 0;
  return () => {
    rested = busy() > BUSY ? 0 : rested + 1;
    if (rested < RESTED_INTERVALS || residentBytes() < settledBytes + WORTH_BYTES) return;
    collect();
    settledBytes = residentBytes();
  };
};

/** Does so from now on, if the process was started with `--expose-gc`. Does not keep the process alive. */
export const returnMemoryAtRest = (): void => {
  const { gc } = globalThis;
  if (gc === undefined) return;
  let seen = performance.eventLoopUtilization();
  const check = createMemoryReturn({
    // The only flavour that takes pages off the young generation.
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
    busy: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, seen);
      seen = now;
      return utilization;
    },
    residentBytes: () => process.memoryUsage.rss(),
  });
  setInterval(check, CHECK_INTERVAL_MS).unref();
};
