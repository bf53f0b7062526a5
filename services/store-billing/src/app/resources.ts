/** Subscriptions and boosts as they leave us (specification 2.7). */
import { formatTimestamp } from '@fitness/shared/clock.ts';
import type { BoostResource } from '@fitness/shared/resources/boost.ts';
import type { SubscriptionResource } from '@fitness/shared/resources/subscription.ts';
import type { Boost, Grant, Subscription } from '../domain/grant.ts';
import { modelNameOf } from '../domain/target.ts';

export const subscriptionResource = (subscription: Subscription): SubscriptionResource => ({
  id: subscription.id,
  user_id: subscription.userId,
  type: subscription.type,
  starts_at: formatTimestamp(subscription.startsAt),
  expires_at: formatTimestamp(subscription.expiresAt),
  created_at: formatTimestamp(subscription.createdAt),
});

export const boostResource = (boost: Boost): BoostResource => ({
  id: boost.id,
  boostable_type: modelNameOf(boost.target.type),
  boostable_id: boost.target.id,
  level: boost.level,
  starts_at: formatTimestamp(boost.startsAt),
  ends_at: formatTimestamp(boost.endsAt),
  created_at: formatTimestamp(boost.createdAt),
});

export const grantResource = (grant: Grant): SubscriptionResource | BoostResource =>
  grant.kind === 'premium' ? subscriptionResource(grant) : boostResource(grant);
