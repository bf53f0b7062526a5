import type { Clock } from '../kernel/clock.ts';

/** A clock that moves only by {@link ManualClock.advance}. */
export class ManualClock implements Clock {
  #nowMs: number;

  constructor(start: Date | string = '2026-01-15T10:00:00Z') {
    this.#nowMs = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#nowMs);
  }

  /** Moves forward by `durationMs` milliseconds. */
  advance(durationMs: number): void {
    this.#nowMs += durationMs;
  }
}
