/** Every public route of store-billing. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import type { Catalogue } from '../domain/offer.ts';
import type { UseCases } from '../use-cases.ts';
import { getRefundQueueRoute } from './get-refund-queue.ts';
import { postBoostRoute } from './post-boost.ts';
import { postBuyPremiumRoute } from './post-buy-premium.ts';
import { postRefundResolutionRoute } from './post-refund-resolution.ts';
import { postStorePurchaseRoute } from './post-store-purchase.ts';

interface RouteOptions {
  catalogue: Catalogue;
  /** The only accepted channel. */
  channel: string;
  idempotency: Idempotency;
  /** The public origin, for links in list responses. */
  baseUrl: string;
}

export const createRoutes = (
  useCases: UseCases,
  { catalogue, channel, idempotency, baseUrl }: RouteOptions,
): Route[] => [
  postStorePurchaseRoute(useCases, { catalogue, channel }),
  getRefundQueueRoute(useCases, baseUrl),
  postRefundResolutionRoute(useCases),
  postBuyPremiumRoute(useCases, idempotency),
  postBoostRoute(useCases, idempotency),
];
