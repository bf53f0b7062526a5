/** However many present one token at a time, the store is asked about it once. */
import type { Verdict } from '../domain/verdict.ts';
import type { StoreChannel, StoreProduct } from './channel.ts';

/** A verdict that is as good for who came while it was on its way: the others may miss what happened meanwhile. */
const isLasting = ({ kind }: Verdict): boolean => kind !== 'not_purchased' && kind !== 'unreadable';

/** The channel, with questions about one purchase in one process at one time asked together. */
export const askOnce = (channel: StoreChannel): StoreChannel => {
  const underWay = new Map<string, Promise<Verdict>>();

  const ask = (key: string, product: StoreProduct): Promise<Verdict> => {
    const asked = channel.verify(product).finally(() => underWay.delete(key));
    underWay.set(key, asked);
    return asked;
  };

  return {
    ...channel,
    verify: async (product) => {
      const key = JSON.stringify([product.productId, product.purchaseToken]);
      const earlier = underWay.get(key);
      if (earlier === undefined) return ask(key, product);
      const verdict = await earlier;
      // Whoever waited asks anew, together: that question is younger than each of them.
      return isLasting(verdict) ? verdict : (underWay.get(key) ?? ask(key, product));
    },
  };
};
