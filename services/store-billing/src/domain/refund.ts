/** A purchase that the store has confirmed and that cannot be granted: operators refund it. */
import type { Presentation } from './attempt.ts';

/** `already_running`: a subscription or boost was running. `target_gone`: the account or the target was deleted. */
export const REFUND_REASONS = ['already_running', 'target_gone'] as const;

export type RefundReason = (typeof REFUND_REASONS)[number];

export interface Refund extends Presentation {
  id: number;
  reason: RefundReason;
  createdAt: Date;
}
