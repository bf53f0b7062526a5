/** Password hashing with argon2id. Each hash occupies a thread of Node's thread pool, so concurrency is bounded. */
import { availableParallelism } from 'node:os';
import { siteOf } from '@fitness/shared/http/client-network.ts';
import { createFairQueue } from '@fitness/shared/kernel/fair-queue.ts';
import { type Algorithm, hash, type Options, verify } from '@node-rs/argon2';

/** Addresses are served in turn. Throws `unavailable` when too many callers wait. */
export interface Passwords {
  /** A PHC string with its own salt and parameters. */
  hash(password: string, address: string): Promise<string>;
  verify(passwordHash: string, password: string, address: string): Promise<boolean>;
  /** Takes as long as `verify`, for a login without an account. Always returns false. */
  verifyDummy(password: string, address: string): Promise<false>;
}

/** The library exports a const enum, which type stripping does not support. */
const ARGON2ID = 2 as Algorithm.Argon2id;
export type PasswordCost = Pick<Options, 'memoryCost' | 'timeCost' | 'parallelism'>;
const COST: PasswordCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Node's thread pool has four threads; one stays free for other work. */
const MAX_CONCURRENT = Math.min(3, availableParallelism());
/** The weight of the newest duration in the average. */
const NEWEST_WEIGHT = 0.1;

/** The queue holds the number of callers that can be served in `queueMs`. */
export const createPasswords = async (queueMs: number, cost = COST): Promise<Passwords> => {
  const options: Options = { algorithm: ARGON2ID, ...cost };
  // Two systems may encode the same typed text in different Unicode forms.
  const normalize = (password: string): string => password.normalize('NFKC');
  const dummyHash = await hash('no account has this password', options);

  const measured = async <T>(work: () => Promise<T>): Promise<{ result: T; durationMs: number }> => {
    const startedAt = performance.now();
    const result = await work();
    return { result, durationMs: performance.now() - startedAt };
  };
  let averageMs = (await measured(() => verify(dummyHash, ''))).durationMs;

  const queue = createFairQueue({
    maxRunning: MAX_CONCURRENT,
    maxWaiting: () => Math.max(1, Math.floor((queueMs * MAX_CONCURRENT) / averageMs)),
    retryAfterMs: queueMs,
  });
  const queued = <T>(address: string, work: () => Promise<T>): Promise<T> =>
    queue(siteOf(address), async () => {
      const { result, durationMs } = await measured(work);
      averageMs += (durationMs - averageMs) * NEWEST_WEIGHT;
      return result;
    });

  return {
    hash: (password, address) => queued(address, () => hash(normalize(password), options)),
    verify: (passwordHash, password, address) =>
      queued(address, () => verify(passwordHash, normalize(password))),
    verifyDummy: async (password, address) => {
      await queued(address, () => verify(dummyHash, normalize(password)));
      return false;
    },
  };
};
