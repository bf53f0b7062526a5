/** The receipt of a redeemed store purchase. */
import { DAY_MS, HOUR_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Grant } from './grant.ts';

export interface StorePurchase {
  /** {@link receiptNumber}, the id in events and logs. */
  id: number;
  channel: string;
  purchaseToken: string;
  productId: string;
  userId: number;
  grant: { kind: Grant['kind']; id: number };
  createdAt: Date;
  acknowledgeTries: number;
}

/** The grant's id, made unique across both kinds, so receipts need no counter. */
export const receiptNumber = ({ kind, id }: StorePurchase['grant']): number =>
  kind === 'premium' ? 2 * id - 1 : 2 * id;

/** The number of days after a redemption in which the store is asked whether it refunded the purchase. */
const RECONCILIATION_DAYS = 30;
export const RECONCILIATION_INTERVAL_MS = DAY_MS;

/** The next check after `now`; null after the last one. */
export const nextReconciliationAt = (redeemedAt: Date, now: Date): Date | null => {
  const next = now.getTime() + RECONCILIATION_INTERVAL_MS;
  return next <= redeemedAt.getTime() + RECONCILIATION_DAYS * DAY_MS ? new Date(next) : null;
};

/** Longer than a round of the job takes. A check without a response is repeated after this. */
export const RECONCILIATION_RETRY_MS = HOUR_MS;

/** The next check after `now` if the store did not respond; null a day after the last regular check. */
export const nextReconciliationRetryAt = (redeemedAt: Date, now: Date): Date | null =>
  now.getTime() < redeemedAt.getTime() + (RECONCILIATION_DAYS + 1) * DAY_MS
    ? new Date(now.getTime() + RECONCILIATION_RETRY_MS)
    : null;

/** The delay before the next acknowledgement after `tries` failed ones: 5 s, doubled each time, at most six hours. */
export const acknowledgeWaitMs = (tries: number): number =>
  Math.min(6 * HOUR_MS, 5 * SECOND_MS * 2 ** Math.min(tries, 20));

/** A token must work as a path segment: lone surrogates cannot be encoded, and `.` and `..` are removed. */
export const isStoreToken = (value: string): boolean =>
  value.isWellFormed() && value !== '.' && value !== '..';
