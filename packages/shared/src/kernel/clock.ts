/**
 * Time, ids and randomness are passed in, so that tests control them. This is the only file that reads the system
 * clock.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';

export interface Clock {
  /** The current instant. */
  now(): Date;
}

/** A clock that the sandbox may advance while the process runs. */
export interface AdvancingClock extends Clock {
  /** Milliseconds by which the clock was advanced in the last `durationMs` of real time. */
  advancedWithin(durationMs: number): number;
  /** Calls `listener` after each advance. */
  onAdvance(listener: () => void): void;
}

/** The system clock, which nothing advances. */
export const systemClock: AdvancingClock = {
  now: () => new Date(Date.now()),
  advancedWithin: () => 0,
  onAdvance: () => undefined,
};

export interface Random {
  /** A version 4 UUID. */
  uuid(): string;
  /** `length` cryptographically random bytes. */
  bytes(length: number): Buffer;
  /** Uniform decimal digits, leading zeros included. */
  digits(length: number): string;
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (length) => randomBytes(length),
  digits: (length) => Array.from({ length }, () => randomInt(10)).join(''),
};

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** `YYYY-MM-DD HH:MM:SS` in UTC, the form of every timestamp of the public API. */
export const formatTimestamp = (date: Date): string => date.toISOString().slice(0, 19).replace('T', ' ');

/** The instant of a {@link formatTimestamp}. */
export const parseTimestamp = (text: string): Date => new Date(`${text.replace(' ', 'T')}Z`);

/** {@link formatTimestamp}, with null passed through. */
export const formatTimestampOrNull = (date: Date | null | undefined): string | null =>
  date == null ? null : formatTimestamp(date);

/** `durationMs` from now by the system clock. Network deadlines use real time, even in tests with a manual clock. */
export const deadlineIn = (durationMs: number): Date => new Date(Date.now() + durationMs);

/** Milliseconds until `deadline`, an instant of the system clock. */
export const msUntil = (deadline: Date | number): number => Number(deadline) - Date.now();
