/** A redemption on its way: journalled before the store is asked, and followed until there is a verdict. */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@fitness/shared/clock.ts';
import type { Target } from './target.ts';

/**
 * `open`: no verdict yet. `granted`: it has its receipt. `closed`: the store said no, or the token is another's.
 * `refund_due`: paid for, and it cannot be granted. `given_up`: no verdict could be had in time.
 */
export type AttemptState = 'open' | 'granted' | 'closed' | 'refund_due' | 'given_up';

/** The same presentation of a token: repeated, it is the same attempt. */
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
  /** Another one with every presentation by the client: a verdict on an older one does not close a newer one. */
  revision: string;
  /** How often the background has asked in vain since the last presentation. */
  tries: number;
  nextCheckAt: Date | null;
  giveUpAt: Date;
}

/** The request that opened an attempt is over by then; until then the background leaves it alone. */
export const ATTEMPT_LEASE_MS = MINUTE_MS;
/** From the last presentation on. */
export const VERIFICATION_WINDOW_MS = 72 * HOUR_MS;

const FIRST_WAIT_MS = 15 * SECOND_MS;
const LONGEST_WAIT_MS = HOUR_MS;

/** Before the next try, when `tries` have been in vain: 15 s, doubled each time, an hour at most. */
export const nextWaitMs = (tries: number): number =>
  Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 20));
