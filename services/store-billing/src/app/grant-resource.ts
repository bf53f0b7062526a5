/** Subscriptions and boosts as resources (specification 2.7). */
import type { BoostResource } from '@fitness/contracts/boost.ts';
import type { SubscriptionResource } from '@fitness/contracts/subscription.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Boost, Grant, Subscription } from '../domain/grant.ts';
import { modelNameOf } from '../domain/target.ts';

export const toSubscriptionResource = (subscription: Subscription): SubscriptionResource => ({
  id: subscription.id,
  user_id: subscription.userId,
  type: subscription.type,
  starts_at: formatTimestamp(subscription.startsAt),
  expires_at: formatTimestamp(subscription.expiresAt),
  created_at: formatTimestamp(subscription.createdAt),
});

export const toBoostResource = (boost: Boost): BoostResource => ({
  id: boost.id,
  boostable_type: modelNameOf(boost.target.type),
  boostable_id: boost.target.id,
  level: boost.level,
  starts_at: formatTimestamp(boost.startsAt),
  ends_at: formatTimestamp(boost.endsAt),
  created_at: formatTimestamp(boost.createdAt),
});

export const toGrantResource = (grant: Grant): SubscriptionResource | BoostResource =>
  grant.kind === 'premium' ? toSubscriptionResource(grant) : toBoostResource(grant);
