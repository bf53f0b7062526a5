/** Reads the epochs of credentials (docs/adr/0002) from Redis, on a connection of its own. */
import {
  EPOCH_LIFETIME_S,
  type EpochSubject,
  epochKey,
  REVOKING,
} from '@fitness/contracts/credential-epochs.ts';
import type { Random } from '@fitness/shared/kernel/clock.ts';
import { createTickBatch } from '@fitness/shared/kernel/turn-batch.ts';
import type { Redis } from '@fitness/shared/runtime/redis.ts';

export interface Stamp {
  /** Another one after each revocation that concerns the user. */
  text: string;
  /** Of the Redis and the namespace where it was read. */
  storeId: string;
}

export interface CredentialEpochs {
  /**
   * Is read by a command that is sent after this call. Undefined without an answer of Redis, and while a revocation is being
   * committed.
   */
  read(userId: number): Promise<Stamp | undefined>;
}

interface EpochOptions {
  /** A command that was sent must never be sent again: it could bring back an epoch that was advanced. */
  redis: Redis;
  namespace: string;
  random: Random;
}

/** How long Redis is not asked after it has failed to answer, so that it does not delay every request. */
const PAUSE_MS = 500;

/**
 * Without flags a script counts as one that writes, which only a primary runs: a replica may not know the last revocations.
 */
const READ = "#!lua\nreturn redis.call('mget', unpack(KEYS))";

type Stamps = ReadonlyMap<number, Stamp>;

const NONE: Stamps = new Map();

export const createCredentialEpochs = ({ redis, namespace, random }: EpochOptions): CredentialEpochs => {
  /** Of the connection. A Redis with older data than before can only be met on a new one. */
  let generation = 0;
  redis.on('close', () => {
    generation += 1;
  });
  let isDown = false;
  let askAgainAt = 0;

  const storeKey = epochKey(namespace, 'store');

  const create = (key: string): Promise<unknown> =>
    key === storeKey
      ? redis.set(key, random.uuid(), 'NX')
      : redis.set(key, random.uuid(), 'EX', EPOCH_LIFETIME_S, 'NX');

  const fetch = (keys: readonly string[]) =>
    redis.eval(READ, keys.length, ...keys) as Promise<(string | null)[]>;

  const read = async (subjects: readonly (EpochSubject | 'store')[]): Promise<(string | null)[]> => {
    const keys = subjects.map((subject) => epochKey(namespace, subject));
    const found = await fetch(keys);
    const missing = keys.filter((_key, index) => found[index] === null);
    if (missing.length === 0) return found;
    const created = missing.map(create);
    const [values] = await Promise.all([fetch(keys), ...created]);
    return values;
  };

  const ask = async (userIds: readonly number[]): Promise<Stamps> => {
    const asked = generation;
    const [storeId, roles, ...users] = await read(['store', 'roles', ...userIds]);
    const isOpen = (epoch: string | null | undefined): boolean =>
      typeof epoch === 'string' && epoch !== REVOKING;
    if (generation !== asked || !storeId || !isOpen(roles)) return NONE;
    const stamps = new Map<number, Stamp>();
    for (const [index, userId] of userIds.entries()) {
      if (isOpen(users[index])) stamps.set(userId, { text: `${asked} ${roles} ${users[index]}`, storeId });
    }
    return stamps;
  };

  /** One command for all requests of a turn of the event loop. */
  const readTogether = createTickBatch(async (userIds: number[]): Promise<Stamps> => {
    if (isDown) askAgainAt = performance.now() + PAUSE_MS;
    try {
      const stamps = await ask(userIds);
      isDown = false;
      return stamps;
    } catch {
      isDown = true;
      askAgainAt = performance.now() + PAUSE_MS;
      return NONE;
    }
  });

  return {
    read: async (userId) => {
      if (isDown && performance.now() < askAgainAt) return undefined;
      return (await readTogether([userId])).get(userId);
    },
  };
};
