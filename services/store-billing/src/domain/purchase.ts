/** The receipt of a redeemed store purchase: a row of the ledger. */
import { DAY_MS, HOUR_MS, SECOND_MS } from '@fitness/shared/clock.ts';
import type { Grant } from './grant.ts';

export interface StorePurchase {
  /** Its number in events and logs: see {@link receiptNumber}. */
  id: number;
  channel: string;
  purchaseToken: string;
  productId: string;
  userId: number;
  /** The subscription's or boost's id, by what it is. */
  grant: { kind: Grant['kind']; id: number };
  createdAt: Date;
  /** When the store was told that it is used; null until then. */
  acknowledgedAt: Date | null;
  acknowledgeTries: number;
  /** Set once the store has reported it refunded. */
  grantEndedAt: Date | null;
}

/** Its grant's number, made unique over both kinds: a receipt needs no counter of its own. */
export const receiptNumber = ({ kind, id }: StorePurchase['grant']): number =>
  kind === 'premium' ? 2 * id - 1 : 2 * id;

/** How long, and how often, a redeemed purchase is looked at again. */
const SECOND_LOOK_DAYS = 30;
export const SECOND_LOOK_INTERVAL_MS = DAY_MS;

/** When to look again after `now`; null when the purchase is old enough to stand for good. */
export const nextLookAt = (redeemedAt: Date, now: Date): Date | null => {
  const next = now.getTime() + SECOND_LOOK_INTERVAL_MS;
  return next <= redeemedAt.getTime() + SECOND_LOOK_DAYS * DAY_MS ? new Date(next) : null;
};

/** Who looks is done with it by then. A look without an answer is repeated after this. */
export const LOOK_LEASE_MS = HOUR_MS;

/** When to look again after `now` when the store has said nothing; null when that has gone on for a day too long. */
export const nextTryAt = (redeemedAt: Date, now: Date): Date | null =>
  now.getTime() < redeemedAt.getTime() + (SECOND_LOOK_DAYS + 1) * DAY_MS
    ? new Date(now.getTime() + LOOK_LEASE_MS)
    : null;

/** Before the store is told again, after `tries` in vain: 5 s, doubled each time, six hours at most. */
export const acknowledgeWaitMs = (tries: number): number =>
  Math.min(6 * HOUR_MS, 5 * SECOND_MS * 2 ** Math.min(tries, 20));

/** A token goes into the path of a store's API: what has no form there, or a meaning of its own, is no store's token. */
export const isStoreToken = (value: string): boolean =>
  value.isWellFormed() && value !== '.' && value !== '..';
