/** Reads the epochs of credentials (docs/adr/0002) from Redis, on a separate connection. */
import {
  EPOCH_LIFETIME_S,
  type EpochSubject,
  epochKey,
  REVOKING,
} from '@fitness/contracts/credential-epochs.ts';
import type { Random } from '@fitness/shared/kernel/clock.ts';
import { createTickBatch } from '@fitness/shared/kernel/tick-batch.ts';
import type { Redis } from '@fitness/shared/runtime/redis.ts';

export interface Stamp {
  /** Changes with each revocation that concerns the user. */
  text: string;
  /** Id of the Redis and the namespace from which the stamp was read. */
  storeId: string;
}

export interface CredentialEpochs {
  /**
   * Reads the stamp with a command that is sent after this call. Undefined if Redis does not respond or a
   * revocation is being committed.
   */
  read(userId: number): Promise<Stamp | undefined>;
}

interface EpochOptions {
  /** Must never repeat a command that was sent: it could restore an epoch that was advanced. */
  redis: Redis;
  namespace: string;
  random: Random;
}

/** Pause after a failure of Redis, so that it does not delay every request. */
const PAUSE_MS = 500;

/**
 * Redis treats a script without flags as one that writes, and only a primary runs it. A replica may not know the last revocations.
 */
const READ = "#!lua\nreturn redis.call('mget', unpack(KEYS))";

type Stamps = ReadonlyMap<number, Stamp>;

const NONE: Stamps = new Map();

export const createCredentialEpochs = ({ redis, namespace, random }: EpochOptions): CredentialEpochs => {
  /** Number of the connection. A Redis with older data can only appear on a new connection. */
  let generation = 0;
  redis.on('close', () => {
    generation += 1;
  });
  let isDown = false;
  let retryAt = 0;

  const storeKey = epochKey(namespace, 'store');

  const create = (key: string): Promise<unknown> =>
    key === storeKey
      ? redis.set(key, random.uuid(), 'NX')
      : redis.set(key, random.uuid(), 'EX', EPOCH_LIFETIME_S, 'NX');

  const fetch = (keys: readonly string[]) =>
    redis.eval(READ, keys.length, ...keys) as Promise<(string | null)[]>;

  const read = async (subjects: readonly (EpochSubject | 'store')[]): Promise<(string | null)[]> => {
    const keys = subjects.map((subject) => epochKey(namespace, subject));
    const existing = await fetch(keys);
    const missing = keys.filter((_key, index) => existing[index] === null);
    if (missing.length === 0) return existing;
    const created = missing.map(create);
    const [values] = await Promise.all([fetch(keys), ...created]);
    return values;
  };

  const readStamps = async (userIds: readonly number[]): Promise<Stamps> => {
    const before = generation;
    const [storeId, roles, ...users] = await read(['store', 'roles', ...userIds]);
    const isOpen = (epoch: string | null | undefined): boolean =>
      typeof epoch === 'string' && epoch !== REVOKING;
    if (generation !== before || !storeId || !isOpen(roles)) return NONE;
    const stamps = new Map<number, Stamp>();
    for (const [index, userId] of userIds.entries()) {
      if (isOpen(users[index])) stamps.set(userId, { text: `${before} ${roles} ${users[index]}`, storeId });
    }
    return stamps;
  };

  /** Reads with one command for all requests of one event loop tick. */
  const readTogether = createTickBatch(async (userIds: number[]): Promise<Stamps> => {
    if (isDown) retryAt = performance.now() + PAUSE_MS;
    try {
      const stamps = await readStamps(userIds);
      isDown = false;
      return stamps;
    } catch {
      isDown = true;
      retryAt = performance.now() + PAUSE_MS;
      return NONE;
    }
  });

  return {
    read: async (userId) => {
      if (isDown && performance.now() < retryAt) return undefined;
      return (await readTogether([userId])).get(userId);
    },
  };
};
