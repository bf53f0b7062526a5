/** The RPC service of store-billing. */
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import { assertMaxItems } from '@fitness/shared/kernel/error.ts';
import { toBoostResource, toSubscriptionResource } from '../app/grant-resource.ts';
import { isTargetType } from '../domain/target.ts';
import type { UseCases } from '../use-cases.ts';

const MAX_ITEMS = 200;

export const createStoreBillingService = ({
  getSubscriptions,
  getBoosts,
  getPrices,
}: UseCases): GrpcService =>
  grpcService(grpcDefinitions.storeBilling(), {
    GetSubscriptions: async ({ user_ids }) => {
      assertMaxItems('user_ids', user_ids, MAX_ITEMS);
      const subscriptions = await getSubscriptions(user_ids);
      return { subscriptions: subscriptions.map(toSubscriptionResource) };
    },
    GetBoosts: async ({ targets }) => {
      assertMaxItems('targets', targets, MAX_ITEMS);
      // A target of another type has no boost.
      const boostable = targets.flatMap(({ type, id }) => (isTargetType(type) ? [{ type, id }] : []));
      const boosts = await getBoosts(boostable);
      return { boosts: boosts.map(toBoostResource) };
    },
    GetPrices: async () => {
      const { premiumPlus, boostBasic, boostPro } = getPrices();
      return { premium_plus: premiumPlus, boost_basic: boostBasic, boost_pro: boostPro };
    },
  });
