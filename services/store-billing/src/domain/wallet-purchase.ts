/**
 * A purchase paid from the wallet, as a saga: the slot is reserved, the wallet is charged, the grant is made. Every step
 * can be repeated, and whoever drives it holds a lease, so that no two processes charge at the same time.
 */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@fitness/shared/clock.ts';
import type { Order } from './grant.ts';

/**
 * `reserved`: the wallet may have been charged or not. `granted`, `undone`: over. `refunding`: charged for something
 * that cannot be given any more, and on its way back to the wallet; `refunded`: over.
 */
export type WalletPurchaseState = 'reserved' | 'granted' | 'undone' | 'refunding' | 'refunded';

export const isOver = ({ state }: Pick<WalletPurchase, 'state'>): boolean =>
  state === 'granted' || state === 'undone' || state === 'refunded';

export interface WalletPurchase {
  /** UUID, and the root of the idempotency keys at the wallet. */
  id: string;
  order: Order;
  /** Whole Tooman, as the offer stood when it was bought. */
  amount: number;
  /** Taken beforehand: the payment names it. */
  grantId: number;
  state: WalletPurchaseState;
  /** Why it was undone: a code of the client contract. Why it is given back: what the slot was, `active` or `closed`. */
  undoneBecause: string | null;
  /** The hash of the client's `Idempotency-Key`. */
  clientKey: string | null;
  /** Whoever drives it. */
  leaseOwner: string;
  /** When somebody else may take it over; null when it is over. */
  leaseUntil: Date | null;
  /** Whoever drove it has gone without an answer of the wallet: it stays as it is until the lease has run out. */
  unattended: boolean;
  tries: number;
  createdAt: Date;
}

/** Longer than a booking may take at the wallet after its caller has given up. */
export const SAGA_LEASE_MS = 30 * SECOND_MS;

/** How long a taken-over saga is left alone after `tries` in vain: the lease, doubled each time, an hour at most. */
export const sagaWaitMs = (tries: number): number =>
  Math.min(HOUR_MS, SAGA_LEASE_MS * 2 ** Math.min(tries, 20));

/** Nothing about it changes soon: a waiting request need not wait any longer. */
export const isAtRest = (purchase: Pick<WalletPurchase, 'state' | 'unattended'>): boolean =>
  purchase.state !== 'reserved' || purchase.unattended;

/** How long a request waits for the saga of another one that holds the slot and is being driven. */
export const SLOT_WAIT_MS = 10 * SECOND_MS;
/** `Idempotency-Key` is kept this long (contract 1). */
export const CLIENT_KEY_MS = 24 * 60 * MINUTE_MS;

export const chargeKey = (id: string): string => `store-billing:${id}`;
export const refundKey = (id: string): string => `store-billing:${id}:refund`;
