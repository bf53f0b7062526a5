import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { asBoost, type Boost } from '../domain/grant.ts';
import type { BoostLevel } from '../domain/offer.ts';
import type { Target } from '../domain/target.ts';
import { assertMayBoost } from './assert-may-boost.ts';
import type { BuyFromWallet, IdempotentRequest } from './buy-from-wallet.ts';
import { targetNotFound } from './wallet-purchase-errors.ts';

/**
 * Buys a boost from the wallet. Throws 404 `payments.target_not_found`, 403 for another user's target without
 * `payments.boost_all`, and what {@link BuyFromWallet} throws.
 */
export const createBuyBoost =
  ({ catalogue, targets, buyFromWallet }: Dependencies & { buyFromWallet: BuyFromWallet }) =>
  async (
    caller: UserCaller,
    { target, level }: { target: Target; level: BoostLevel },
    { clientKey, complete }: IdempotentRequest<Boost>,
  ): Promise<Boost> => {
    const boosted = await assertMayBoost(targets, caller, target, targetNotFound);
    const grant = await buyFromWallet({
      order: { userId: caller.userId, offer: catalogue.boosts[level], target: boosted },
      clientKey,
      complete: (session, granted) => complete(session, asBoost(granted)),
    });
    return asBoost(grant);
  };
