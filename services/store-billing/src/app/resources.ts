/** Subscriptions and boosts as they leave us (specification 2.7). */
import { formatTimestamp } from '@fitness/shared/clock.ts';
import type { Boost, Grant, Subscription } from '../domain/grant.ts';
import { modelNameOf } from '../domain/target.ts';

export interface SubscriptionResource {
  id: number;
  user_id: number;
  type: string;
  starts_at: string;
  expires_at: string;
  created_at: string;
}

export interface BoostResource {
  id: number;
  /** The model name, e.g. `App\Models\Gyms\Gym`. */
  boostable_type: string;
  boostable_id: number;
  level: number;
  starts_at: string;
  ends_at: string;
  created_at: string;
}

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
