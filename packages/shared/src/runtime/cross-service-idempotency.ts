/**
 * {@link CrossServiceCheck} in Redis. Without Redis each service decides by its database. No effect happens twice.
 */
import type { Clock } from '../kernel/clock.ts';
import type { CrossServiceCheck } from '../mongo/idempotency-claims.ts';
import type { Redis } from './redis.ts';

/**
 * Entries expire by the clock of the process, as the keys in the databases do. The first line marks the script as writing: a
 * replica refuses it even if the key exists.
 */
const REGISTER = `#!lua
  local held = redis.call('get', KEYS[1])
  if held then
    local hash, expires = string.match(held, '^(%x+):(%d+)$')
    if hash and tonumber(expires) > tonumber(ARGV[2]) then return hash end
  end
  redis.call('set', KEYS[1], ARGV[1] .. ':' .. ARGV[3], 'PX', ARGV[4])
  return ARGV[1]`;
const RELEASE = `
  local held = redis.call('get', KEYS[1])
  if held and string.match(held, '^%x+') == ARGV[1] then return redis.call('del', KEYS[1]) end
  return 0`;

/** `keyPrefix` must be the same in every service of an installation. */
export const createCrossServiceCheck = (redis: Redis, keyPrefix: string, clock: Clock): CrossServiceCheck => {
  const redisKey = (id: string): string => `${keyPrefix}:idempotency:${id}`;
  return {
    register: async (id, requestHash, ttlMs) => {
      const now = clock.now().getTime();
      try {
        return (
          (await redis.eval(REGISTER, 1, redisKey(id), requestHash, now, now + ttlMs, ttlMs)) === requestHash
        );
      } catch {
        return true;
      }
    },
    release: async (id, requestHash) => {
      await redis.eval(RELEASE, 1, redisKey(id), requestHash).catch(() => undefined);
    },
  };
};
