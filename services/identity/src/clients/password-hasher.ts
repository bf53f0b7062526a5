/** argon2id. It fills the thread pool of the process, so only a few are computed at once. */
import { availableParallelism } from 'node:os';
import { unavailable } from '@fitness/shared/error.ts';
import { type Algorithm, hash, type Options, verify } from '@node-rs/argon2';

export interface Passwords {
  /** A PHC string with its own salt and parameters. */
  hash(password: string): Promise<string>;
  verify(passwordHash: string, password: string): Promise<boolean>;
  /** Takes as long as `verify`; for an account that does not exist. Always false. */
  verifyDummy(password: string): Promise<false>;
}

/** The member that is named by a const enum, which does not survive type stripping. */
const ARGON2ID = 2 as Algorithm.Argon2id;
const COST: Options = { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Node's thread pool has four threads; some must stay free for everything else. */
const MAX_AT_ONCE = Math.min(3, availableParallelism());
/** About half a minute of work: whoever came after it would have given up anyway. */
const MAX_WAITING = 2_000;

/** Throws `unavailable` when far too many are waiting already. */
export const createPasswords = async (): Promise<Passwords> => {
  const limited = createBound(MAX_AT_ONCE, MAX_WAITING);
  // The same text typed on two systems may come in two forms of Unicode.
  const normal = (password: string): string => password.normalize('NFKC');
  const dummy = await hash('no account has this password', COST);
  return {
    hash: (password) => limited(() => hash(normal(password), COST)),
    verify: (passwordHash, password) => limited(() => verify(passwordHash, normal(password))),
    verifyDummy: async (password) => {
      await limited(() => verify(dummy, normal(password)));
      return false;
    },
  };
};

const createBound = (atOnce: number, maxWaiting: number) => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (waiting.length >= maxWaiting) throw unavailable('too many passwords wait to be hashed');
      // The one that ends hands its place over, so that nobody slips in between.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
};
