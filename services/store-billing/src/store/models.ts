/** The collections of store-billing's database. */
import { erase, personalFieldsOf, privacy, pseudonymise, retain } from '@fitness/shared/mongo/privacy.ts';
import { type Connection, type Model, Schema } from 'mongoose';
import type { AttemptState } from '../domain/attempt.ts';
import type { Offer } from '../domain/offer.ts';
import type { RefundOutcome, RefundReason } from '../domain/refund.ts';
import type { TargetType } from '../domain/target.ts';
import type { WalletPurchaseState } from '../domain/wallet-purchase.ts';
import type { TargetFields } from './target-fields.ts';

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
  look_due_at: Date | null;
}

export interface WalletPurchaseDocument extends TargetFields {
  _id: string;
  user_id: number;
  offer: Offer;
  amount: number;
  grant_id: number;
  state: WalletPurchaseState;
  undone_because: string | null;
  client_key: string | null;
  lease_owner: string;
  /** When another process may take it over. Null once the saga has ended. */
  lease_until: Date | null;
  /** Whether the lease holder stopped without a response from the wallet. */
  unattended: boolean;
  tries: number;
  created_at: Date;
  /** Missing from documents of older releases, where `created_at` is used instead. */
  started_at?: Date;
}

const number = { type: Number, required: true };
const text = { type: String, required: true };
const date = { type: Date, required: true };
const maybeDate = { type: Date, default: null };
const maybeText = { type: String, default: null };
const maybeNumber = { type: Number, default: null };
const counter = { type: Number, default: 0 };
const options = (collection: string) => ({ collection, versionKey: false as const });

const subscriptions = new Schema<SubscriptionDocument>(
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

const boosts = new Schema<BoostDocument>(
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

const slots = new Schema<SlotDocument>(
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

const isNumber = { $type: 'number' };

const storePurchases = new Schema<StorePurchaseDocument>(
  {
    _id: text,
    number: number,
    channel: text,
    purchase_token: text,
    product_id: text,
    user_id: number,
    user_premium_subscription_id: maybeNumber,
    marketing_boost_id: maybeNumber,
    created_at: date,
    acknowledged_at: maybeDate,
    acknowledge_tries: counter,
    acknowledge_due_at: maybeDate,
    look_due_at: maybeDate,
    grant_ended_at: maybeDate,
    version: counter,
  },
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

const attempts = new Schema<AttemptDocument>(
  {
    _id: text,
    channel: text,
    purchase_token: text,
    product_id: text,
    user_id: number,
    boostable_type: maybeText,
    boostable_id: maybeNumber,
    boosted_by_operator: Boolean,
    boost_request_id: String,
    state: text,
    reason: maybeText,
    revision: text,
    tries: counter,
    next_check_at: maybeDate,
    give_up_at: date,
    created_at: date,
    updated_at: date,
  },
  options('store_purchase_attempts'),
).index({ channel: 1, next_check_at: 1 });

const refunds = new Schema<RefundDocument>(
  {
    _id: number,
    attempt_id: text,
    owed_for: maybeText,
    purchase_key: maybeText,
    channel: text,
    purchase_token: text,
    product_id: text,
    user_id: number,
    boostable_type: maybeText,
    boostable_id: maybeNumber,
    boosted_by_operator: Boolean,
    boost_request_id: String,
    reason: text,
    created_at: date,
    resolved_at: maybeDate,
    resolution: maybeText,
    note: maybeText,
    note_erased: Boolean,
    resolved_by: maybeNumber,
    look_due_at: maybeDate,
  },
  options('refund_queue'),
)
  // A purchase is in the queue only once, however often it is presented.
  .index({ owed_for: 1 }, { unique: true, partialFilterExpression: { owed_for: { $gt: '' } } })
  .index({ resolved_at: 1, _id: 1 })
  .index({ purchase_key: 1 })
  .index({ user_id: 1 })
  .index({ channel: 1, look_due_at: 1 });

const walletPurchases = new Schema<WalletPurchaseDocument>(
  {
    _id: text,
    user_id: number,
    offer: { type: Schema.Types.Mixed, required: true },
    boostable_type: maybeText,
    boostable_id: maybeNumber,
    boosted_by_operator: Boolean,
    boost_request_id: String,
    amount: number,
    grant_id: number,
    state: text,
    undone_because: maybeText,
    client_key: maybeText,
    lease_owner: text,
    lease_until: maybeDate,
    unattended: { type: Boolean, default: false },
    tries: counter,
    created_at: date,
    started_at: Date,
  },
  options('wallet_purchases'),
)
  .index({ lease_until: 1 })
  .index({ user_id: 1, client_key: 1, created_at: 1 });

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

privacy(
  storePurchases,
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'the receipt: a purchase is granted once, and the store may refund it',
    '_id',
    'channel',
    'purchase_token',
    'product_id',
    'user_premium_subscription_id',
    'marketing_boost_id',
    'created_at',
    'acknowledged_at',
    'acknowledge_tries',
    'acknowledge_due_at',
    'look_due_at',
    'grant_ended_at',
    'version',
    'number',
  ),
);

privacy(
  attempts,
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'a paid purchase is granted or refunded even after the account is erased',
    '_id',
    'channel',
    'state',
    'purchase_token',
    'product_id',
    'boostable_type',
    'boostable_id',
    'reason',
    'revision',
    'tries',
    'next_check_at',
    'give_up_at',
    'created_at',
    'updated_at',
  ),
  retain(
    'whether an operator has bought it for somebody else, and by which request',
    'boosted_by_operator',
    'boost_request_id',
  ),
);

privacy(
  refunds,
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'a due refund is paid even after the account is erased',
    '_id',
    'attempt_id',
    'owed_for',
    'purchase_key',
    'channel',
    'purchase_token',
    'product_id',
    'boostable_type',
    'boostable_id',
    'reason',
    'created_at',
    'resolved_at',
    'resolution',
    'look_due_at',
  ),
  retain(
    'whether an operator has bought it for somebody else, and by which request',
    'boosted_by_operator',
    'boost_request_id',
  ),
  erase('text of an operator about the purchase', 'note'),
  retain('how far an erasure has come', 'note_erased'),
  pseudonymise('the number of the operator’s account', 'resolved_by'),
);

privacy(
  walletPurchases,
  retain('the hash of a key', 'client_key'),
  retain('the progress of the saga', 'unattended'),
  retain(
    'whether an operator has bought it for somebody else, and by which request',
    'boosted_by_operator',
    'boost_request_id',
  ),
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'what was charged and granted, for accounting',
    '_id',
    'offer',
    'boostable_type',
    'boostable_id',
    'amount',
    'grant_id',
    'state',
    'undone_because',
    'lease_owner',
    'lease_until',
    'tries',
    'created_at',
    'started_at',
  ),
);

export const isPersonalRefundField = personalFieldsOf(refunds);

export interface Models {
  subscriptions: Model<SubscriptionDocument>;
  boosts: Model<BoostDocument>;
  slots: Model<SlotDocument>;
  storePurchases: Model<StorePurchaseDocument>;
  attempts: Model<AttemptDocument>;
  refunds: Model<RefundDocument>;
  walletPurchases: Model<WalletPurchaseDocument>;
}

/** Registers the models on this connection, once. */
export const registerModels = (connection: Connection): Models => ({
  subscriptions: connection.model<SubscriptionDocument>('Subscription', subscriptions),
  boosts: connection.model<BoostDocument>('Boost', boosts),
  slots: connection.model<SlotDocument>('Slot', slots),
  storePurchases: connection.model<StorePurchaseDocument>('StorePurchase', storePurchases),
  attempts: connection.model<AttemptDocument>('StorePurchaseAttempt', attempts),
  refunds: connection.model<RefundDocument>('Refund', refunds),
  walletPurchases: connection.model<WalletPurchaseDocument>('WalletPurchase', walletPurchases),
});
