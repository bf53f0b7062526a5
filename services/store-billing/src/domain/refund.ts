/** A purchase that the store confirmed but that cannot be granted. Operators refund it. */
import type { Presentation } from './attempt.ts';

/** `already_running`: a subscription or boost was running. `target_gone`: the account or the target was deleted. */
export const REFUND_REASONS = ['already_running', 'target_gone'] as const;

export type RefundReason = (typeof REFUND_REASONS)[number];

export const REFUND_OUTCOMES = ['refunded', 'granted'] as const;

export type RefundOutcome = (typeof REFUND_OUTCOMES)[number];

/** How it left the queue. Without an operator, the store reported the refund or a later presentation was granted. */
export interface RefundResolution {
  outcome: RefundOutcome;
  note: string | null;
  /** User id of the operator. */
  resolvedBy: number | null;
  resolvedAt: Date;
  /** See `decisionMark`. Undefined without an operator, and for a resolution of an older release. */
  mark?: string | undefined;
}

export interface Refund extends Presentation {
  id: number;
  attemptId: string;
  reason: RefundReason;
  createdAt: Date;
  /** Null while it is in the queue. */
  resolution: RefundResolution | null;
}
