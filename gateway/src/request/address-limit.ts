/** A request limit for each client address, counted in Redis for all replicas, in memory while Redis is unavailable. */
import { networkOf } from '@fitness/shared/http/client-network.ts';
import { rateLimited, rateLimitHeaders } from '@fitness/shared/kernel/rate-limit.ts';
import { createRateLimiter, type RateLimiterOptions } from '@fitness/shared/runtime/rate-limiter.ts';
import type { FastifyReply } from 'fastify';

/** Counts one request of the address, of IPv6 of its network; throws 429 over the limit. */
export type AddressLimit = (address: string, reply: FastifyReply) => Promise<void>;

export const createAddressLimit = ({
  perMinute,
  ...counting
}: Pick<RateLimiterOptions, 'redis' | 'keyPrefix' | 'clock'> & { perMinute: number }): AddressLimit => {
  const limiter = createRateLimiter(counting);
  const limit = { name: 'address', points: perMinute, windowS: 60 };
  return async (address, reply) => {
    const state = await limiter.consume(limit, networkOf(address));
    if (state.allowed) return;
    reply.headers(rateLimitHeaders(state));
    throw rateLimited(state);
  };
};
