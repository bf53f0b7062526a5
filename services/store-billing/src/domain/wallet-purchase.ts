/**
 * A purchase paid from the wallet is a saga: the slot is reserved, the wallet is charged, the grant is stored. Every step
 * can be repeated. The process that runs it holds a lease, so that no two processes charge at the same time.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Order } from './grant.ts';

/**
 * `reserved`: it is unknown whether the wallet was charged. `refunding`: charged, cannot be granted any more, and not yet
 * refunded. `granted`, `undone` and `refunded` are final.
 */
export type WalletPurchaseState = 'reserved' | 'granted' | 'undone' | 'refunding' | 'refunded';

export const isOver = ({ state }: Pick<WalletPurchase, 'state'>): boolean =>
  state === 'granted' || state === 'undone' || state === 'refunded';

export interface WalletPurchase {
  /** UUID, and the root of the idempotency keys at the wallet. */
  id: string;
  order: Order;
  /** Whole Tooman, at the price of the moment of purchase. */
  amount: number;
  /** Taken before the charge, which refers to it. */
  grantId: number;
  state: WalletPurchaseState;
  /** When undone: an error code of the wallet. When refunded: the state of the slot, `active` or `closed`. */
  undoneBecause: string | null;
  /** The hash of the client's `Idempotency-Key`. */
  clientKey: string | null;
  leaseOwner: string;
  /** The holder of the lease has stopped without an answer of the wallet: nothing changes until the lease expires. */
  unattended: boolean;
  tries: number;
  createdAt: Date;
  /** {@link createdAt} by the clock of the leases, which nothing advances. */
  startedAt: Date;
}

/** The process that runs the saga renews it. Short, so that a repeat of the request continues the work of a dead process. */
export const SAGA_LEASE_MS = 6 * SECOND_MS;
export const SAGA_RENEWAL_MS = 2 * SECOND_MS;
/** Longer than any request may take: a process that hangs does not keep the saga. */
export const LONGEST_SAGA_MS = MINUTE_MS;
/** Longer than the wallet may take to book after its caller has died. */
const CHARGE_SETTLED_MS = 30 * SECOND_MS;

/** A call of the process that died may still charge: a refusal of the wallet does not end the saga yet. */
export const mayBeChargedLater = (
  { tries, startedAt }: Pick<WalletPurchase, 'tries' | 'startedAt'>,
  now: Date,
): boolean => tries > 0 && now.getTime() < startedAt.getTime() + CHARGE_SETTLED_MS;

/** The lease of a saga that was taken over, after `tries` failed ones: doubled each time, at most an hour. */
export const sagaWaitMs = (tries: number): number =>
  Math.min(HOUR_MS, SAGA_LEASE_MS * 2 ** Math.min(tries, 20));

/** A process charges the wallet now. Otherwise the state does not change soon, and waiting for it is useless. */
export const isBeingCharged = (purchase: Pick<WalletPurchase, 'state' | 'unattended'>): boolean =>
  purchase.state === 'reserved' && !purchase.unattended;

/** How long a request waits for another request's saga that holds the slot. */
export const SLOT_WAIT_MS = 10 * SECOND_MS;
/** How long an `Idempotency-Key` is kept. */
export const CLIENT_KEY_MS = DAY_MS;

export const chargeKey = (id: string): string => `store-billing:${id}`;
export const refundKey = (id: string): string => `store-billing:${id}:refund`;
