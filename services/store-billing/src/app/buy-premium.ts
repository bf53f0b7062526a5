import type { Dependencies } from '../dependencies.ts';
import { asSubscription, type Subscription } from '../domain/grant.ts';
import type { BuyFromWallet, IdempotentRequest } from './buy-from-wallet.ts';

/** Buys a month of premium from the wallet. Throws what {@link BuyFromWallet} throws. */
export const createBuyPremium =
  ({ catalogue, buyFromWallet }: Dependencies & { buyFromWallet: BuyFromWallet }) =>
  async (userId: number, { clientKey, complete }: IdempotentRequest<Subscription>): Promise<Subscription> => {
    const grant = await buyFromWallet({
      order: { userId, offer: catalogue.premium, target: null },
      clientKey,
      complete: (session, granted) => complete(session, asSubscription(granted)),
    });
    return asSubscription(grant);
  };
