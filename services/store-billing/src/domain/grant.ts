/** What a purchase gives: a subscription of a user, or a boost of a target. Exactly one of the two. */
import { MODEL } from '@fitness/shared/models.ts';
import { endOf, type Offer } from './offer.ts';
import { boostSlot, premiumSlot, type Target } from './target.ts';

/** `wallet`, or the channel of the store that settled the purchase. */
export type GrantSource = string;

export interface Subscription {
  kind: 'premium';
  id: number;
  userId: number;
  type: 'plus';
  startsAt: Date;
  expiresAt: Date;
  source: GrantSource;
  createdAt: Date;
}

export interface Boost {
  kind: 'boost';
  id: number;
  /** Who paid. */
  userId: number;
  target: Target;
  level: number;
  startsAt: Date;
  endsAt: Date;
  source: GrantSource;
  createdAt: Date;
}

export type Grant = Subscription | Boost;

/** Something of the catalogue for somebody: what a grant is made from, whoever settles it. */
export interface Order {
  userId: number;
  offer: Offer;
  /** Of a boost; null for premium. */
  target: Target | null;
}

/** Throws, as a programmer's error, for a boost without target. */
export const slotOf = ({ userId, offer, target }: Order): string => {
  if (offer.kind === 'premium') return premiumSlot(userId);
  if (target === null) throw new Error('a boost needs a target');
  return boostSlot(target);
};

/** The grant of an order, running from `now` on. */
export const createGrant = (order: Order, id: number, source: GrantSource, now: Date): Grant => {
  const { offer, userId, target } = order;
  const common = { id, userId, startsAt: now, source, createdAt: now };
  if (offer.kind === 'premium')
    return { ...common, kind: 'premium', type: offer.type, expiresAt: endOf(offer, now) };
  if (target === null) throw new Error('a boost needs a target');
  return { ...common, kind: 'boost', target, level: offer.level, endsAt: endOf(offer, now) };
};

export const endsAt = (grant: Grant): Date => (grant.kind === 'premium' ? grant.expiresAt : grant.endsAt);

/** What a payment for it is for. */
export const payableTypeOf = (kind: Grant['kind']): string =>
  kind === 'premium' ? MODEL.premiumSubscription : MODEL.marketingBoost;
