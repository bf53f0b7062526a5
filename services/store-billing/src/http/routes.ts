/** The public routes of store-billing. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import { getRefundQueue } from './get-refund-queue.ts';
import { postBoost } from './post-boost.ts';
import { postBuyPremium } from './post-buy-premium.ts';
import { postStorePurchase } from './post-store-purchase.ts';

export type RouteParts = Parameters<typeof postStorePurchase>[0] &
  Parameters<typeof getRefundQueue>[0] &
  Parameters<typeof postBuyPremium>[0] &
  Parameters<typeof postBoost>[0];

export const createRoutes = (parts: RouteParts): Route[] => [
  postStorePurchase(parts),
  getRefundQueue(parts),
  postBuyPremium(parts),
  postBoost(parts),
];
