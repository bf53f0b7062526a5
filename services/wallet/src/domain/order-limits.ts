/** Limits for the orders of one user at the bank gateway. Each order costs calls there, and an entry of the journal. */
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';

/** An order that was or is about to be opened, with the id of its payment. */
export interface PlacedOrder {
  id: number;
  at: Date;
}

/** Limit for orders of {@link ORDER_LIMIT_MS}, whatever became of them. */
export const MAX_ORDERS = 50;
export const ORDER_LIMIT_MS = DAY_MS;

/** Limit for open orders that are younger than {@link OPEN_LIMIT_MS}. */
export const MAX_OPEN_DEPOSITS = 10;
/** Older deposits are not counted: the payer has abandoned them. */
export const OPEN_LIMIT_MS = 30 * MINUTE_MS;

/** The orders that are younger than `lifetimeMs`. */
export const youngOrders = (orders: readonly PlacedOrder[], lifetimeMs: number, now: Date): PlacedOrder[] =>
  orders.filter(({ at }) => now.getTime() - at.getTime() < lifetimeMs);
