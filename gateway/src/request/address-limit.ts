/** A request limit for each client address. It is counted in Redis for all replicas, or in memory without Redis. */
import { networkOf } from '@fitness/shared/http/client-network.ts';
import { rateLimited, rateLimitHeaders } from '@fitness/shared/kernel/rate-limit.ts';
import { createRateLimiter, type RateLimiterOptions } from '@fitness/shared/runtime/rate-limiter.ts';
import type { FastifyReply } from 'fastify';

/** Counts one request of the address, or of its network for IPv6. Throws 429 above the limit. */
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
