import type { UserCaller } from '@fitness/shared/caller.ts';
import type { Grant } from '../domain/grant.ts';
import type { BoostLevel } from '../domain/offer.ts';
import type { Target } from '../domain/target.ts';
import { type BuyFromWallet, targetNotFound, type WalletOrder } from './buy-from-wallet.ts';
import type { BillingDeps } from './deps.ts';
import { assertOwnTarget } from './own-target.ts';

/**
 * A boost from the wallet. Throws 404 `payments.target_not_found`, 403 for a target of another without
 * `payments.boost_all`, and what {@link BuyFromWallet} throws.
 */
export type BuyBoost = (
  caller: UserCaller,
  wanted: { target: Target; level: BoostLevel },
  paid: Omit<WalletOrder, 'order'>,
) => Promise<Grant>;

export const createBuyBoost =
  ({ catalogue, targets }: Pick<BillingDeps, 'catalogue' | 'targets'>, buy: BuyFromWallet): BuyBoost =>
  async (caller, { target, level }, paid) => {
    await assertOwnTarget(targets, caller, target, targetNotFound);
    return buy({ order: { userId: caller.userId, offer: catalogue.boosts[level], target }, ...paid });
  };
