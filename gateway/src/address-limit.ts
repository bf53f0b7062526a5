/** An optional limit for each client address, counted in Redis over all replicas, and in memory while Redis is gone. */
import { createRateLimiter, rateLimited, rateLimitHeaders } from '@fitness/shared/http/rate-limit.ts';
import type { Redis } from '@fitness/shared/redis.ts';
import type { FastifyReply } from 'fastify';

/** Takes one request of the address's budget; throws 429 when it is spent. */
export type AddressLimit = (address: string, reply: FastifyReply) => Promise<void>;

export const createAddressLimit = (redis: Redis, keyPrefix: string, perMinute: number): AddressLimit => {
  const limiter = createRateLimiter({ redis, keyPrefix });
  const limit = { name: 'address', points: perMinute, windowS: 60 };
  return async (address, reply) => {
    const state = await limiter.consume(limit, address);
    if (state.allowed) return;
    reply.headers(rateLimitHeaders(state));
    throw rateLimited(state);
  };
};
