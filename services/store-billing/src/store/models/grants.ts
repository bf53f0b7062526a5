/** Subscriptions, boosts, and the slots in which they run. */
import { privacy, pseudonymise, retain } from '@fitness/shared/mongo/privacy.ts';
import { Schema } from 'mongoose';
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

export const subscriptions = new Schema<SubscriptionDocument>(
  {
    _id: number,
    user_id: number,
    type: text,
    starts_at: date,
    expires_at: date,
    source: text,
    created_at: date,
    expiry_notice_due_at: maybeDate,
    version: counter,
  },
  options('subscriptions'),
)
  .index({ user_id: 1, expires_at: 1 })
  .index({ expiry_notice_due_at: 1 });

export const boosts = new Schema<BoostDocument>(
  {
    _id: number,
    user_id: number,
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
  },
  options('boosts'),
)
  .index({ target: 1, ends_at: 1 })
  .index({ end_due_at: 1 });

export const slots = new Schema<SlotDocument>(
  {
    _id: text,
    active_until: date,
    grant_id: maybeNumber,
    reserved_by: maybeText,
    closed: { type: Boolean, default: false },
    version: counter,
  },
  options('slots'),
);

privacy(
  subscriptions,
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'what was granted, for accounting',
    '_id',
    'type',
    'starts_at',
    'expires_at',
    'source',
    'created_at',
    'expiry_notice_due_at',
    'version',
  ),
);

privacy(
  boosts,
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'what was granted, for accounting',
    '_id',
    'target',
    'boostable_type',
    'boostable_id',
    'level',
    'starts_at',
    'ends_at',
    'source',
    'created_at',
    'end_due_at',
    'version',
  ),
);

privacy(
  slots,
  pseudonymise('contains the number of the account or of the boosted target', '_id'),
  retain(
    'marks that nothing is granted there any more',
    'closed',
    'active_until',
    'grant_id',
    'reserved_by',
    'version',
  ),
);
