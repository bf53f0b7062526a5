import { invalid, message } from '@fitness/shared/error.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { LookUp } from '../app/look-up.ts';
import { boostResource, subscriptionResource } from '../app/resources.ts';
import { isTargetType } from '../domain/target.ts';

const MAX_ASKED = 200;

/** Throws 422 for more than one call may ask. */
const atMost = (name: string, asked: readonly unknown[]): void => {
  if (asked.length > MAX_ASKED)
    throw invalid({ [name]: message('validation.max_items', { max: MAX_ASKED }) });
};

export const storeBillingGrpc = (lookUp: LookUp): GrpcService =>
  grpcService(grpcDefinitions.storeBilling(), {
    GetSubscriptions: async ({ user_ids }) => {
      atMost('user_ids', user_ids);
      const subscriptions = await lookUp.subscriptions(user_ids);
      return { subscriptions: subscriptions.map(subscriptionResource) };
    },
    GetBoosts: async ({ targets }) => {
      atMost('targets', targets);
      // What cannot be boosted has no boost.
      const known = targets.flatMap(({ type, id }) => (isTargetType(type) ? [{ type, id }] : []));
      const boosts = await lookUp.boosts(known);
      return { boosts: boosts.map(boostResource) };
    },
    GetPrices: async () => {
      const { premiumPlus, boostBasic, boostPro } = lookUp.prices();
      return { premium_plus: premiumPlus, boost_basic: boostBasic, boost_pro: boostPro };
    },
  });
