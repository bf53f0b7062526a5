/** Subscriptions, boosts, and the slots in which they run. */
import { pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import type { TargetType } from '../../domain/target.ts';
import { counter, date, maybeDate, maybeNumber, maybeText, number, options, text } from './fields.ts';

export interface SubscriptionDocument {
  _id: number;
  user_id: number;
  type: 'plus';
  starts_at: Date;
  expires_at: Date;
  source: string;
  created_at: Date;
  /** When to announce its end. Null once it is announced, or if it is not to be announced. */
  expiry_notice_due_at: Date | null;
  version: number;
}

export interface BoostDocument {
  _id: number;
  user_id: number;
  /** {@link targetKey}: type and id. */
  target: string;
  boostable_type: TargetType;
  boostable_id: number;
  level: number;
  starts_at: Date;
  ends_at: Date;
  source: string;
  created_at: Date;
  /** When to publish its end. Null once it is published. */
  end_due_at: Date | null;
  version: number;
}

/** At most one grant runs in a slot. Every grant writes its slot, so concurrent grants conflict in the database. */
export interface SlotDocument {
  _id: string;
  /** The end of the running grant. In the past if none runs. */
  active_until: Date;
  grant_id: number | null;
  /** The wallet purchase that has reserved it. */
  reserved_by: string | null;
  /** Whether the user or target is deleted. */
  closed: boolean;
  version: number;
}

export const subscriptions = schemaOf<SubscriptionDocument>(
  options('subscriptions'),
  pseudonymise('the number of the account', { user_id: number }),
  retain('what was granted, for accounting', {
    _id: number,
    type: text,
    starts_at: date,
    expires_at: date,
    source: text,
    created_at: date,
    expiry_notice_due_at: maybeDate,
    version: counter,
  }),
)
  .index({ user_id: 1, expires_at: 1 })
  .index({ expiry_notice_due_at: 1 });

export const boosts = schemaOf<BoostDocument>(
  options('boosts'),
  pseudonymise('the number of the account', { user_id: number }),
  retain('what was granted, for accounting', {
    _id: number,
    target: text,
    boostable_type: text,
    boostable_id: number,
    level: number,
    starts_at: date,
    ends_at: date,
    source: text,
    created_at: date,
    end_due_at: maybeDate,
    version: counter,
  }),
)
  .index({ target: 1, ends_at: 1 })
  .index({ end_due_at: 1 });

export const slots = schemaOf<SlotDocument>(
  options('slots'),
  pseudonymise('contains the number of the account or of the boosted target', { _id: text }),
  retain('marks that nothing is granted there any more', {
    closed: { type: Boolean, default: false },
    active_until: date,
    grant_id: maybeNumber,
    reserved_by: maybeText,
    version: counter,
  }),
);
