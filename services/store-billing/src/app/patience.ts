/** For how long a transaction is tried that others stand in the way of. */
import { SECOND_MS } from '@fitness/shared/clock.ts';

/** However many come at once: who has paid and waits does not fail for want of patience. */
export const REQUEST_PATIENCE_MS = 20 * SECOND_MS;
/** One turn in the background, which comes again; the others are not held up. */
export const BACKGROUND_PATIENCE_MS = 3 * SECOND_MS;
