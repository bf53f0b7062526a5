/**
 * Answers to guests that a service has marked as public, in the memory of this process, for at most a second
 * (docs/adr/0071). Which routes these are the services alone decide, by `Cache-Control`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';

export interface KeptAnswer {
  /** As the service has sent them. */
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Follows one exchange with a service, of which it keeps the answer if it may. */
export interface Keeper {
  begin(status: number, headers: IncomingHttpHeaders): void;
  data(chunk: Buffer): void;
  /** The answer is complete. */
  end(): void;
  /** There is no answer, or no complete one. */
  fail(): void;
}

export interface GuestCache {
  /**
   * Calls `onHit` with a kept answer; else `fetch`, which must end or fail its keeper. While a request for a key whose last
   * answer was kept is on its way, others wait for it.
   */
  answer(key: string, onHit: (kept: KeptAnswer) => void, fetch: (keeper: Keeper) => void): void;
  /** A kept answer, for a request whose own answer cannot be kept. */
  get(key: string): KeptAnswer | undefined;
}

const MEBIBYTE = 1024 * 1024;
/** The longest time that is kept to, whatever a service says. */
const MAX_AGE_MS = 1_000;
const PUBLIC_MAX_AGE = /^public, max-age=(\d{1,9})(?:,|$)/;
/** Of keys whose last answer was kept. */
const MAX_KNOWN = 10_000;
const MAX_KEY_LENGTH = 1_000;
/** Of the objects around a body, in bytes. */
const OVERHEAD = 1_024;

interface Waiting {
  onHit: (kept: KeptAnswer) => void;
  fetch: (keeper: Keeper) => void;
}

export const createGuestCache = (maxMebibytes: number): GuestCache => {
  const maxSize = maxMebibytes * MEBIBYTE;
  const maxEntrySize = Math.floor(maxSize / 8);
  const kept = new LRUCache<string, KeptAnswer>({
    maxSize,
    maxEntrySize,
    sizeCalculation: ({ body }, key) => body.length + key.length * 2 + OVERHEAD,
    ttl: MAX_AGE_MS,
    // A timer for every read would cost more than the clock.
    ttlResolution: 0,
  });
  const known = new LRUCache<string, true>({ max: MAX_KNOWN });
  const pending = new Map<string, Waiting[]>();

  const settle = (key: string, answer: KeptAnswer | undefined): void => {
    const waiting = pending.get(key) ?? [];
    pending.delete(key);
    for (const { onHit, fetch } of waiting) {
      if (answer === undefined) fetch(IGNORING);
      else onHit(answer);
    }
  };

  const createKeeper = (key: string): Keeper => {
    const startedAt = performance.now();
    let headers: IncomingHttpHeaders | undefined;
    let maxAgeMs = 0;
    let bytes = 0;
    let chunks: Buffer[] = [];
    const giveUp = (): void => {
      headers = undefined;
      chunks = [];
      known.delete(key);
      settle(key, undefined);
    };
    return {
      begin: (status, given) => {
        maxAgeMs = status === 200 ? maxAgeOf(given) : 0;
        if (maxAgeMs === 0 || Number(given['content-length'] ?? 0) > maxEntrySize) giveUp();
        else headers = given;
      },
      data: (chunk) => {
        if (headers === undefined) return;
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxEntrySize) giveUp();
      },
      end: () => {
        if (headers === undefined) return;
        const answer = { headers, body: Buffer.concat(chunks, bytes) };
        // The service may have read what it answers as early as this.
        const leftMs = maxAgeMs - (performance.now() - startedAt);
        if (leftMs > 0) {
          kept.set(key, answer, { ttl: leftMs });
          known.set(key, true);
        }
        settle(key, leftMs > 0 ? answer : undefined);
      },
      fail: giveUp,
    };
  };

  const get = (key: string): KeptAnswer | undefined => kept.get(key);

  return {
    get,
    answer: (key, onHit, fetch) => {
      const found = get(key);
      if (found !== undefined) return onHit(found);
      if (key.length > MAX_KEY_LENGTH) return fetch(IGNORING);
      const waiting = pending.get(key);
      if (waiting !== undefined) return void waiting.push({ onHit, fetch });
      if (known.has(key)) pending.set(key, []);
      fetch(createKeeper(key));
    },
  };
};

const IGNORING: Keeper = {
  begin: () => undefined,
  data: () => undefined,
  end: () => undefined,
  fail: () => undefined,
};

const maxAgeOf = (headers: IncomingHttpHeaders): number => {
  const [, seconds] = PUBLIC_MAX_AGE.exec(headers['cache-control'] ?? '') ?? [];
  return seconds === undefined ? 0 : Math.min(Number(seconds) * 1_000, MAX_AGE_MS);
};
