/** The collections of this service's database. */
import { privacy, pseudonymise, retain } from '@fitness/shared/mongo/privacy.ts';
import { type Connection, type Model, Schema } from 'mongoose';
import type { AttemptState } from '../domain/attempt.ts';
import type { TargetType } from '../domain/target.ts';
import type { WalletPurchaseState } from '../domain/wallet-purchase.ts';

export interface SubscriptionDocument {
  _id: number;
  user_id: number;
  type: 'plus';
  starts_at: Date;
  expires_at: Date;
  source: string;
  created_at: Date;
  version: number;
}

export interface BoostDocument {
  _id: number;
  user_id: number;
  /** Type and id of what is boosted. */
  target: string;
  boostable_type: TargetType;
  boostable_id: number;
  level: number;
  starts_at: Date;
  ends_at: Date;
  source: string;
  created_at: Date;
  /** When its end is to be told; null once it was. */
  end_due_at: Date | null;
  version: number;
}

/** Where at most one grant runs at a time. Every grant writes it, so that two of them conflict in the database. */
export interface SlotDocument {
  _id: string;
  /** The running grant's end; long past when there is none. */
  active_until: Date;
  grant_id: number | null;
  /** The wallet purchase that holds it until it is settled. */
  reserved_by: string | null;
  /** The user or target is gone for good. */
  closed: boolean;
  version: number;
}

export interface StorePurchaseDocument {
  /** Channel and token, so that it is found by `_id` beside its grant and its slot in one question. */
  _id: string;
  /** As events name it. */
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
  /** When the store is to be told next; null once it knows. */
  acknowledge_due_at: Date | null;
  /** When it is to be looked at again; null when it stands for good. */
  look_due_at: Date | null;
  grant_ended_at: Date | null;
  version: number;
}

export interface AttemptDocument {
  _id: string;
  channel: string;
  purchase_token: string;
  product_id: string;
  user_id: number;
  boostable_type: TargetType | null;
  boostable_id: number | null;
  state: AttemptState;
  reason: string | null;
  /** Another one with every presentation by the client. */
  revision: string;
  tries: number;
  next_check_at: Date | null;
  give_up_at: Date;
  created_at: Date;
  updated_at: Date;
}

export interface RefundDocument {
  _id: number;
  attempt_id: string;
  /** The purchase (channel and token) while it is owed, null afterwards. */
  owed_for: string | null;
  channel: string;
  purchase_token: string;
  product_id: string;
  user_id: number;
  boostable_type: TargetType | null;
  boostable_id: number | null;
  reason: string;
  created_at: Date;
  resolved_at: Date | null;
  resolution: 'refunded' | 'granted' | null;
  look_due_at: Date | null;
}

export interface WalletPurchaseDocument {
  _id: string;
  user_id: number;
  offer: Record<string, unknown>;
  boostable_type: TargetType | null;
  boostable_id: number | null;
  amount: number;
  grant_id: number;
  state: WalletPurchaseState;
  undone_because: string | null;
  client_key: string | null;
  lease_owner: string;
  lease_until: Date | null;
  /** Whoever drove it has gone without an answer of the wallet. */
  unattended: boolean;
  tries: number;
  created_at: Date;
}

const id = { type: Number, required: true };
const text = { type: String, required: true };
const date = { type: Date, required: true };
const maybeDate = { type: Date, default: null };
const maybeText = { type: String, default: null };
const maybeId = { type: Number, default: null };
const counter = { type: Number, default: 0 };
const options = (collection: string) => ({ collection, versionKey: false as const });

const subscriptions = new Schema<SubscriptionDocument>(
  {
    _id: id,
    user_id: id,
    type: text,
    starts_at: date,
    expires_at: date,
    source: text,
    created_at: date,
    version: counter,
  },
  options('subscriptions'),
).index({ user_id: 1, expires_at: 1 });

const boosts = new Schema<BoostDocument>(
  {
    _id: id,
    user_id: id,
    target: text,
    boostable_type: text,
    boostable_id: id,
    level: id,
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
    grant_id: maybeId,
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
    number: id,
    channel: text,
    purchase_token: text,
    product_id: text,
    user_id: id,
    user_premium_subscription_id: maybeId,
    marketing_boost_id: maybeId,
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
    // Exactly one of the two grants, whoever writes.
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
    user_id: id,
    boostable_type: maybeText,
    boostable_id: maybeId,
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
    _id: id,
    attempt_id: text,
    owed_for: maybeText,
    channel: text,
    purchase_token: text,
    product_id: text,
    user_id: id,
    boostable_type: maybeText,
    boostable_id: maybeId,
    reason: text,
    created_at: date,
    resolved_at: maybeDate,
    resolution: maybeText,
    look_due_at: maybeDate,
  },
  options('refund_queue'),
)
  // A purchase is owed back once, however often it is presented.
  .index({ owed_for: 1 }, { unique: true, partialFilterExpression: { owed_for: { $gt: '' } } })
  .index({ resolved_at: 1, _id: 1 })
  .index({ channel: 1, look_due_at: 1 });

const walletPurchases = new Schema<WalletPurchaseDocument>(
  {
    _id: text,
    user_id: id,
    offer: { type: Schema.Types.Mixed, required: true },
    boostable_type: maybeText,
    boostable_id: maybeId,
    amount: id,
    grant_id: id,
    state: text,
    undone_because: maybeText,
    client_key: maybeText,
    lease_owner: text,
    lease_until: maybeDate,
    unattended: { type: Boolean, default: false },
    tries: counter,
    created_at: date,
  },
  options('wallet_purchases'),
)
  .index({ lease_until: 1 })
  .index({ user_id: 1, client_key: 1, created_at: 1 });

privacy(
  subscriptions,
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'what was granted, for the books',
    '_id',
    'type',
    'starts_at',
    'expires_at',
    'source',
    'created_at',
    'version',
  ),
);

privacy(
  boosts,
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'what was granted, for the books',
    '_id',
    'target',
    'boostable_type',
    'boostable_id',
    'level',
    'starts_at',
    'ends_at',
  ),
  retain('likewise', 'source', 'created_at', 'end_due_at', 'version'),
);

privacy(
  slots,
  pseudonymise('names the account or what was boosted, by its number', '_id'),
  retain(
    'the mark that nothing is granted there any more',
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
  retain('the receipt: a purchase is granted once, and may be taken back by the store', '_id', 'channel'),
  retain('likewise', 'purchase_token', 'product_id', 'user_premium_subscription_id', 'marketing_boost_id'),
  retain('likewise', 'created_at', 'acknowledged_at', 'acknowledge_tries', 'acknowledge_due_at'),
  retain('likewise', 'look_due_at', 'grant_ended_at', 'version', 'number'),
);

privacy(
  attempts,
  pseudonymise('the number of the account', 'user_id'),
  retain('what was paid is granted or paid back, also when the payer is gone', '_id', 'channel', 'state'),
  retain('likewise', 'purchase_token', 'product_id', 'boostable_type', 'boostable_id', 'reason', 'revision'),
  retain('likewise', 'tries', 'next_check_at', 'give_up_at', 'created_at', 'updated_at'),
);

privacy(
  refunds,
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'what is owed is paid back, also when the payer is gone',
    '_id',
    'attempt_id',
    'owed_for',
    'channel',
  ),
  retain(
    'likewise',
    'purchase_token',
    'product_id',
    'boostable_type',
    'boostable_id',
    'reason',
    'created_at',
  ),
  retain('likewise', 'resolved_at', 'resolution', 'look_due_at'),
);

privacy(
  walletPurchases,
  retain('the hash of a key', 'client_key'),
  retain('how far it has come', 'unattended'),
  pseudonymise('the number of the account', 'user_id'),
  retain(
    'what was charged and granted, for the books',
    '_id',
    'offer',
    'boostable_type',
    'boostable_id',
    'amount',
  ),
  retain(
    'likewise',
    'grant_id',
    'state',
    'undone_because',
    'lease_owner',
    'lease_until',
    'tries',
    'created_at',
  ),
);

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
