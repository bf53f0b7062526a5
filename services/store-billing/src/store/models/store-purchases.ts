/** Purchases in stores: those that are granted, and attempts to redeem one. */
import { pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import type { AttemptState } from '../../domain/attempt.ts';
import type { TargetFields } from '../target-fields.ts';
import { counter, date, maybeDate, maybeNumber, maybeText, number, options, text } from './fields.ts';

export interface StorePurchaseDocument {
  /** {@link receiptKey}: channel and token, so the ledger query can join it by `_id`. */
  _id: string;
  /** Its id in events. */
  number: number;
  channel: string;
  purchase_token: string;
  product_id: string;
  user_id: number;
  user_premium_subscription_id: number | null;
  marketing_boost_id: number | null;
  created_at: Date;
  acknowledged_at: Date | null;
  acknowledge_tries: number;
  /** When to acknowledge it to the store. Null once that is done. */
  acknowledge_due_at: Date | null;
  /** When to ask the store whether it was refunded. Null for never again. */
  look_due_at: Date | null;
  grant_ended_at: Date | null;
  version: number;
}

export interface AttemptDocument extends TargetFields {
  _id: string;
  channel: string;
  purchase_token: string;
  product_id: string;
  user_id: number;
  state: AttemptState;
  reason: string | null;
  /** Changes with every presentation by the client. */
  revision: string;
  tries: number;
  next_check_at: Date | null;
  give_up_at: Date;
  created_at: Date;
  updated_at: Date;
}

const isNumber = { $type: 'number' };

export const storePurchases = schemaOf<StorePurchaseDocument>(
  {
    ...options('store_purchases'),
    // Exactly one of the two grants must be set.
    collectionOptions: {
      validator: {
        $or: [
          { user_premium_subscription_id: isNumber, marketing_boost_id: null },
          { user_premium_subscription_id: null, marketing_boost_id: isNumber },
        ],
      },
    },
  },
  pseudonymise('the number of the account', { user_id: number }),
  retain('the receipt: a purchase is granted once, and the store may refund it', {
    _id: text,
    channel: text,
    purchase_token: text,
    product_id: text,
    user_premium_subscription_id: maybeNumber,
    marketing_boost_id: maybeNumber,
    created_at: date,
    acknowledged_at: maybeDate,
    acknowledge_tries: counter,
    acknowledge_due_at: maybeDate,
    look_due_at: maybeDate,
    grant_ended_at: maybeDate,
    version: counter,
    number: number,
  }),
)
  .index({ channel: 1, purchase_token: 1 }, { unique: true })
  .index(
    { user_premium_subscription_id: 1 },
    { unique: true, partialFilterExpression: { user_premium_subscription_id: isNumber } },
  )
  .index(
    { marketing_boost_id: 1 },
    { unique: true, partialFilterExpression: { marketing_boost_id: isNumber } },
  )
  .index({ channel: 1, acknowledge_due_at: 1 })
  .index({ channel: 1, look_due_at: 1 });

export const attempts = schemaOf<AttemptDocument>(
  options('store_purchase_attempts'),
  pseudonymise('the number of the account', { user_id: number }),
  retain('a paid purchase is granted or refunded even after the account is erased', {
    _id: text,
    channel: text,
    state: text,
    purchase_token: text,
    product_id: text,
    boostable_type: maybeText,
    boostable_id: maybeNumber,
    reason: maybeText,
    revision: text,
    tries: counter,
    next_check_at: maybeDate,
    give_up_at: date,
    created_at: date,
    updated_at: date,
  }),
  retain('whether an operator has bought it for somebody else, and by which request', {
    boosted_by_operator: Boolean,
    boost_request_id: String,
  }),
).index({ channel: 1, next_check_at: 1 });
