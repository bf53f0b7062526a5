/** A redemption in the journal. It is stored before the store is asked, and re-verified until there is a verdict. */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Target } from './target.ts';

/**
 * `open`: no verdict yet. `granted`: it has a receipt. `closed`: not purchased, or redeemed by another user or for
 * another product. `refund_due`: paid, but it cannot be granted. `given_up`: no verdict in time.
 */
export type AttemptState = 'open' | 'granted' | 'closed' | 'refund_due' | 'given_up';

/** What a client presents. Repeated presentations with equal fields are one attempt. */
export interface Presentation {
  channel: string;
  purchaseToken: string;
  productId: string;
  userId: number;
  target: Target | null;
}

export interface Attempt extends Presentation {
  id: string;
  state: AttemptState;
  /** Changes with every presentation by the client, so a verdict on an older one does not close a newer one. */
  revision: string;
  /** Failed verifications since the last presentation. */
  tries: number;
  nextCheckAt: Date | null;
  giveUpAt: Date;
}

/** Longer than the request that opened the attempt can take. The background does not verify it earlier. */
export const ATTEMPT_LEASE_MS = MINUTE_MS;
/** Counted from the last presentation. */
export const VERIFICATION_WINDOW_MS = 72 * HOUR_MS;

const FIRST_WAIT_MS = 15 * SECOND_MS;
const LONGEST_WAIT_MS = HOUR_MS;

/** The delay before the next try after `tries` failed ones: 15 s, doubled each time, at most an hour. */
export const nextWaitMs = (tries: number): number =>
  Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 20));
