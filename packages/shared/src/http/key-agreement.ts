/**
 * One `Idempotency-Key` of a user stands for one request, whichever service it is sent to. Each service keeps its keys
 * with their effects, in its own database; this is what they have in common, and it is in Redis: should it be lost, each
 * service judges by what it knows itself, and no effect is doubled by that.
 */
import type { Clock } from '../clock.ts';
import type { Redis } from '../redis.ts';

export interface KeyAgreement {
  /**
   * Whether the key `id` stands for the request of this hash: it is the first that came with the key within `keptMs`, or
   * the same again. True while Redis is gone.
   */
  standsFor(id: string, requestHash: string, keptMs: number): Promise<boolean>;
  /** The request had no effect: the key may stand for another. */
  release(id: string, requestHash: string): Promise<void>;
}

/** By the clock of the process and not by Redis' own, as the keys beside the effects are. */
const NOTE = `
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

/** `keyPrefix` is the same in every service of a product. */
export const createKeyAgreement = (redis: Redis, keyPrefix: string, clock: Clock): KeyAgreement => {
  const nameOf = (id: string): string => `${keyPrefix}:idempotency:${id}`;
  return {
    standsFor: async (id, requestHash, keptMs) => {
      const now = clock.now().getTime();
      try {
        return (
          (await redis.eval(NOTE, 1, nameOf(id), requestHash, now, now + keptMs, keptMs)) === requestHash
        );
      } catch {
        return true;
      }
    },
    release: async (id, requestHash) => {
      await redis.eval(RELEASE, 1, nameOf(id), requestHash).catch(() => undefined);
    },
  };
};
