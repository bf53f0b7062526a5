/** Passwords are hashed by argon2id. Each hash occupies a thread of Node's thread pool, so concurrency is bounded. */
import { availableParallelism } from 'node:os';
import { type Algorithm, hash, type Options, verify } from '@node-rs/argon2';
import { createConcurrencyLimit } from '../domain/concurrency-limit.ts';

export interface Passwords {
  /** A PHC string with its own salt and parameters. */
  hash(password: string): Promise<string>;
  verify(passwordHash: string, password: string): Promise<boolean>;
  /** Takes as long as `verify`, for a login without an account. Always false. */
  verifyDummy(password: string): Promise<false>;
}

/** The library exports a const enum, which type stripping does not support. */
const ARGON2ID = 2 as Algorithm.Argon2id;
const COST: Options = { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Node's thread pool has four threads; one stays free for other work. */
const MAX_CONCURRENT = Math.min(3, availableParallelism());
/** About half a minute of work, longer than a client waits. */
const MAX_WAITING = 2_000;

/** Its functions throw `unavailable` when {@link MAX_WAITING} calls are waiting. */
export const createPasswords = async (): Promise<Passwords> => {
  const limited = createConcurrencyLimit(MAX_CONCURRENT, MAX_WAITING);
  // Two systems may encode the same typed text in different Unicode forms.
  const normalize = (password: string): string => password.normalize('NFKC');
  const dummyHash = await hash('no account has this password', COST);
  return {
    hash: (password) => limited(() => hash(normalize(password), COST)),
    verify: (passwordHash, password) => limited(() => verify(passwordHash, normalize(password))),
    verifyDummy: async (password) => {
      await limited(() => verify(dummyHash, normalize(password)));
      return false;
    },
  };
};
