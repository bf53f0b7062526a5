/**
 * A purchase paid from the wallet is a saga: reserve the slot, charge the wallet, store the grant. Every step can be
 * repeated. The process that runs it holds a lease, so no two processes charge at the same time.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Order } from './grant.ts';

/**
 * `reserved`: it is unknown whether the wallet was charged. `refunding`: charged, can no longer be granted, and not yet
 * refunded. `granted`, `undone` and `refunded` are final.
 */
export type WalletPurchaseState = 'reserved' | 'granted' | 'undone' | 'refunding' | 'refunded';

export const hasEnded = ({ state }: Pick<WalletPurchase, 'state'>): boolean =>
  state === 'granted' || state === 'undone' || state === 'refunded';

export interface WalletPurchase {
  /** UUID. The idempotency keys for the wallet are derived from it. */
  id: string;
  order: Order;
  /** Whole Tooman, the price at the time of purchase. */
  amount: number;
  /** Allocated before the charge, which refers to it. */
  grantId: number;
  state: WalletPurchaseState;
  /** When undone: an error code of the wallet. When refunded: the state of the slot, `active` or `closed`. */
  undoneBecause: string | null;
  /** The hash of the client's `Idempotency-Key`. */
  clientKey: string | null;
  leaseOwner: string;
  /** Whether the lease holder stopped without a response from the wallet. Nothing changes until the lease expires. */
  unattended: boolean;
  tries: number;
  createdAt: Date;
  /** The same time as {@link createdAt}, on the real-time clock that the leases use. */
  startedAt: Date;
}

/** Renewed by the process that runs the saga. Short, so a repeated request can continue the work of a dead process. */
export const SAGA_LEASE_MS = 6 * SECOND_MS;
export const SAGA_RENEWAL_MS = 2 * SECOND_MS;
/** Longer than any request may take. A process that hangs for longer loses the saga. */
export const LONGEST_SAGA_MS = MINUTE_MS;
/** Longer than the wallet may take to book after its caller has died. */
const CHARGE_SETTLED_MS = 30 * SECOND_MS;

/** Whether a call by a dead process may still charge, so a refusal by the wallet does not end the saga yet. */
export const mayBeChargedLater = (
  { tries, startedAt }: Pick<WalletPurchase, 'tries' | 'startedAt'>,
  now: Date,
): boolean => tries > 0 && now.getTime() < startedAt.getTime() + CHARGE_SETTLED_MS;

/** The lease of a saga that is taken over after `tries` failed attempts: doubled each time, at most an hour. */
export const sagaWaitMs = (tries: number): number =>
  Math.min(HOUR_MS, SAGA_LEASE_MS * 2 ** Math.min(tries, 20));

/** Whether a process is charging the wallet now. Otherwise, the state will not change soon, so waiting is useless. */
export const isBeingCharged = (purchase: Pick<WalletPurchase, 'state' | 'unattended'>): boolean =>
  purchase.state === 'reserved' && !purchase.unattended;

/** How long a request waits for another request's saga that holds the slot. */
export const SLOT_WAIT_MS = 10 * SECOND_MS;
/** How long an `Idempotency-Key` is kept. */
export const CLIENT_KEY_MS = DAY_MS;

export const chargeKey = (id: string): string => `store-billing:${id}`;
export const refundKey = (id: string): string => `store-billing:${id}:refund`;
