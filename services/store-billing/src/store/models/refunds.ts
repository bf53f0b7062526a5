/** The queue of refunds. */
import { erase, personalFieldsOf, pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import type { RefundOutcome, RefundReason } from '../../domain/refund.ts';
import type { TargetFields } from '../target-fields.ts';
import { date, maybeDate, maybeNumber, maybeText, number, options, text } from './fields.ts';

export interface RefundDocument extends TargetFields {
  _id: number;
  attempt_id: string;
  /** {@link receiptKey} of the purchase until it is resolved, then null. */
  owed_for: string | null;
  /** {@link receiptKey}, kept so that a purchase an operator refunded is not granted. Missing from older releases. */
  purchase_key?: string | null;
  channel: string;
  purchase_token: string;
  product_id: string;
  user_id: number;
  reason: RefundReason;
  created_at: Date;
  resolved_at: Date | null;
  resolution: RefundOutcome | null;
  /** The operator’s note. */
  note?: string | null;
  /** Whether the erasure of the account has removed the note. Later notes are not stored. */
  note_erased?: boolean;
  resolved_by?: number | null;
  /** Recognizes a repeated decision, without its note. */
  mark?: string;
  look_due_at: Date | null;
}

export const refunds = schemaOf<RefundDocument>(
  options('refund_queue'),
  pseudonymise('the number of the account', { user_id: number }),
  retain('a due refund is paid even after the account is erased', {
    _id: number,
    attempt_id: text,
    owed_for: maybeText,
    purchase_key: maybeText,
    channel: text,
    purchase_token: text,
    product_id: text,
    boostable_type: maybeText,
    boostable_id: maybeNumber,
    reason: text,
    created_at: date,
    resolved_at: maybeDate,
    resolution: maybeText,
    look_due_at: maybeDate,
  }),
  retain('whether an operator has bought it for somebody else, and by which request', {
    boosted_by_operator: Boolean,
    boost_request_id: String,
  }),
  erase('text of an operator about the purchase', { note: maybeText }),
  retain('how far an erasure has come', { note_erased: Boolean }),
  retain('recognizes a repeated decision, without its note', { mark: String }),
  pseudonymise('the number of the operator’s account', { resolved_by: maybeNumber }),
)
  // A purchase is in the queue only once, however often it is presented.
  .index({ owed_for: 1 }, { unique: true, partialFilterExpression: { owed_for: { $gt: '' } } })
  .index({ resolved_at: 1, _id: 1 })
  .index({ purchase_key: 1 })
  .index({ user_id: 1 })
  .index({ channel: 1, look_due_at: 1 });

export const isPersonalRefundField = personalFieldsOf(refunds);
