import { outsideRequest } from '@fitness/shared/kernel/request-scope.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { StoreChannel, StoreProduct } from './channel.ts';

/**
 * Whether a verdict holds for a caller that arrived while the request was running. A negative one may be outdated, because
 * the store may have decided before the purchase was made.
 */
const holdsForLaterCallers = ({ kind }: Verdict): boolean =>
  kind !== 'not_purchased' && kind !== 'unreadable';

/** Limits the channel to one request per purchase at a time. Concurrent callers in this process share its verdict. */
export const coalesceVerifications = (channel: StoreChannel): StoreChannel => {
  const running = new Map<string, Promise<Verdict>>();

  const start = (key: string, product: StoreProduct): Promise<Verdict> => {
    // Without the deadline of the first request, because other callers wait for it, too.
    const request = outsideRequest(() => channel.verify(product)).finally(() => running.delete(key));
    running.set(key, request);
    return request;
  };

  return {
    ...channel,
    verify: async (product) => {
      const key = JSON.stringify([product.productId, product.purchaseToken]);
      const earlier = running.get(key);
      if (earlier === undefined) return start(key, product);
      const verdict = await earlier;
      // The second request starts after all waiting callers arrived, so they may share it.
      return holdsForLaterCallers(verdict) ? verdict : (running.get(key) ?? start(key, product));
    },
  };
};
