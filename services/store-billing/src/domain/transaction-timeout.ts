/** How long a transaction is retried after write conflicts. */
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';

/** Long, because the purchase is already paid for and the client waits. */
export const REQUEST_TRANSACTION_TIMEOUT_MS = 20 * SECOND_MS;
/** Short, because a job processes rows one by one and comes back to this one. */
export const BACKGROUND_TRANSACTION_TIMEOUT_MS = 3 * SECOND_MS;
