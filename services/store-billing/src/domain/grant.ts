/** A grant is what a purchase gives: a subscription of a user, or a boost of a target. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { endOf, type Offer } from './offer.ts';
import { boostSlot, premiumSlot, type Target } from './target.ts';

/** `wallet`, or the name of a store channel. */
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
  /** The buyer, who need not own the target. */
  userId: number;
  target: Target;
  level: number;
  startsAt: Date;
  endsAt: Date;
  source: GrantSource;
  createdAt: Date;
}

export type Grant = Subscription | Boost;

export interface Order {
  userId: number;
  offer: Offer;
  /** Null for premium. */
  target: Target | null;
}

export const slotOf = ({ userId, offer, target }: Order): string => {
  if (offer.kind === 'premium') return premiumSlot(userId);
  if (target === null) throw new Error('a boost needs a target');
  return boostSlot(target);
};

export const slotOfGrant = (grant: Grant): string =>
  grant.kind === 'premium' ? premiumSlot(grant.userId) : boostSlot(grant.target);

/** Creates a grant that starts at `now`. */
export const createGrant = (order: Order, id: number, source: GrantSource, now: Date): Grant => {
  const { offer, userId, target } = order;
  const common = { id, userId, startsAt: now, source, createdAt: now };
  if (offer.kind === 'premium')
    return { ...common, kind: 'premium', type: offer.type, expiresAt: endOf(offer, now) };
  if (target === null) throw new Error('a boost needs a target');
  return { ...common, kind: 'boost', target, level: offer.level, endsAt: endOf(offer, now) };
};

export const endsAt = (grant: Grant): Date => (grant.kind === 'premium' ? grant.expiresAt : grant.endsAt);

const EXPIRY_NOTICE_MS = 3 * DAY_MS;

/** When to notify the user of the end; null for a subscription of three days or less. */
export const expiryNoticeAt = ({
  startsAt,
  expiresAt,
}: Pick<Subscription, 'startsAt' | 'expiresAt'>): Date | null => {
  const at = new Date(expiresAt.getTime() - EXPIRY_NOTICE_MS);
  return at > startsAt ? at : null;
};

/** The `payable_type` of the payment for a grant. */
export const payableTypeOf = (kind: Grant['kind']): string =>
  kind === 'premium' ? MODEL.premiumSubscription : MODEL.marketingBoost;

/** For code that has ordered a subscription. */
export const asSubscription = (grant: Grant): Subscription => {
  if (grant.kind !== 'premium') throw new Error('the grant is no subscription');
  return grant;
};

/** For code that has ordered a boost. */
export const asBoost = (grant: Grant): Boost => {
  if (grant.kind !== 'boost') throw new Error('the grant is no boost');
  return grant;
};
