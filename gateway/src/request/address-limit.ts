/** A request limit for each client address, counted in Redis for all replicas, in memory while Redis is unavailable. */
import { networkOf } from '@fitness/shared/http/client-network.ts';
import { rateLimited, rateLimitHeaders } from '@fitness/shared/kernel/rate-limit.ts';
import { createRateLimiter } from '@fitness/shared/runtime/rate-limiter.ts';
import type { Redis } from '@fitness/shared/runtime/redis.ts';
import type { FastifyReply } from 'fastify';

/** Counts one request of the address, of IPv6 of its network; throws 429 over the limit. */
export type AddressLimit = (address: string, reply: FastifyReply) => Promise<void>;

export const createAddressLimit = (redis: Redis, keyPrefix: string, perMinute: number): AddressLimit => {
  const limiter = createRateLimiter({ redis, keyPrefix });
  const limit = { name: 'address', points: perMinute, windowS: 60 };
  return async (address, reply) => {
    const state = await limiter.consume(limit, networkOf(address));
    if (state.allowed) return;
    reply.headers(rateLimitHeaders(state));
    throw rateLimited(state);
  };
};
