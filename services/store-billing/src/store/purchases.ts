/** The ledger of redeemed store purchases. A token belongs to whoever first redeemed it. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { acknowledgeWaitMs, LOOK_LEASE_MS, nextLookAt, type StorePurchase } from '../domain/purchase.ts';
import { insertPlain } from './insert.ts';
import type { Models, StorePurchaseDocument } from './models.ts';

/** The token was redeemed meanwhile; the transaction that hears it is over. */
class AlreadyRedeemed extends Error {
  override name = 'AlreadyRedeemed';
}

/** By name: in a test run two realms may hold two copies of the class. */
export const isAlreadyRedeemed = (error: unknown): boolean =>
  (error as { name?: unknown } | null)?.name === 'AlreadyRedeemed';

export interface Purchases {
  /**
   * Throws {@link AlreadyRedeemed} when the database holds a receipt of this token. Who inserts it tells the store of
   * it, as if he had claimed that.
   */
  insert(session: ClientSession, purchase: StorePurchase): Promise<void>;
  /** Receipts of which the store is to be told. */
  toAcknowledge(channel: string, now: Date, limit: number): Promise<StorePurchase[]>;
  /** Keeps others from doing the same until `until`. False when somebody else has it. */
  claimAcknowledgement(purchase: StorePurchase, now: Date, until: Date): Promise<boolean>;
  acknowledged(purchase: StorePurchase, at: Date): Promise<void>;
  /** Receipts that are due for their second look. */
  toLookAt(channel: string, now: Date, limit: number): Promise<StorePurchase[]>;
  /** Takes a due look, for an hour; false when somebody else has it. */
  claimLook(purchase: StorePurchase, now: Date): Promise<boolean>;
  /** Sets the next look; null for none. */
  looked(purchase: StorePurchase, next: Date | null): Promise<void>;
  /** Marks that the store took it back; undefined when it was marked before. */
  markEnded(
    session: ClientSession,
    purchase: StorePurchase,
    now: Date,
  ): Promise<{ purchase: StorePurchase; version: number } | undefined>;
}

export const receiptKey = (channel: string, purchaseToken: string): string => `${channel}:${purchaseToken}`;

const keyOf = ({ channel, purchaseToken }: StorePurchase): string => receiptKey(channel, purchaseToken);

export const toPurchase = (found: StorePurchaseDocument): StorePurchase => ({
  id: found.number,
  channel: found.channel,
  purchaseToken: found.purchase_token,
  productId: found.product_id,
  userId: found.user_id,
  grant:
    found.user_premium_subscription_id === null
      ? { kind: 'boost', id: found.marketing_boost_id as number }
      : { kind: 'premium', id: found.user_premium_subscription_id },
  createdAt: found.created_at,
  acknowledgedAt: found.acknowledged_at,
  acknowledgeTries: found.acknowledge_tries,
  grantEndedAt: found.grant_ended_at,
});

const toDocument = (purchase: StorePurchase): StorePurchaseDocument => ({
  _id: keyOf(purchase),
  number: purchase.id,
  channel: purchase.channel,
  purchase_token: purchase.purchaseToken,
  product_id: purchase.productId,
  user_id: purchase.userId,
  user_premium_subscription_id: purchase.grant.kind === 'premium' ? purchase.grant.id : null,
  marketing_boost_id: purchase.grant.kind === 'boost' ? purchase.grant.id : null,
  created_at: purchase.createdAt,
  acknowledged_at: null,
  acknowledge_tries: 1,
  acknowledge_due_at: new Date(purchase.createdAt.getTime() + acknowledgeWaitMs(0)),
  look_due_at: nextLookAt(purchase.createdAt, purchase.createdAt),
  grant_ended_at: null,
  version: 1,
});

export const createPurchases = ({ storePurchases }: Models): Purchases => {
  const due = async (query: Record<string, unknown>, limit: number): Promise<StorePurchase[]> => {
    const found = await storePurchases.find(query).limit(limit).lean<StorePurchaseDocument[]>();
    return found.map(toPurchase);
  };
  return {
    insert: async (session, purchase) => {
      try {
        await insertPlain(storePurchases, session, toDocument(purchase));
      } catch (error) {
        // Its key and its channel and token are unique; the database names whichever it looked at first.
        const isItsToken = isDuplicateKey(error, '_id') || isDuplicateKey(error, 'purchase_token');
        throw isItsToken ? new AlreadyRedeemed('', { cause: error }) : error;
      }
    },
    toAcknowledge: (channel, now, limit) =>
      due({ acknowledge_due_at: trusted({ $lte: now }), channel }, limit),
    claimAcknowledgement: async (purchase, now, until) => {
      const claimed = await storePurchases.updateOne(
        { _id: keyOf(purchase), acknowledge_due_at: trusted({ $lte: now }) },
        { $set: { acknowledge_due_at: until }, $inc: { acknowledge_tries: 1 } },
      );
      return claimed.modifiedCount === 1;
    },
    acknowledged: async (purchase, at) => {
      await storePurchases.updateOne(
        { _id: keyOf(purchase) },
        { $set: { acknowledged_at: at, acknowledge_due_at: null } },
      );
    },
    toLookAt: (channel, now, limit) => due({ look_due_at: trusted({ $lte: now }), channel }, limit),
    claimLook: async (purchase, now) => {
      const claimed = await storePurchases.updateOne(
        { _id: keyOf(purchase), look_due_at: trusted({ $lte: now }) },
        { $set: { look_due_at: new Date(now.getTime() + LOOK_LEASE_MS) } },
      );
      return claimed.modifiedCount === 1;
    },
    looked: async (purchase, next) => {
      await storePurchases.updateOne(
        { _id: keyOf(purchase), grant_ended_at: null },
        { $set: { look_due_at: next } },
      );
    },
    markEnded: async (session, purchase, now) => {
      const marked = await storePurchases
        .findOneAndUpdate(
          { _id: keyOf(purchase), grant_ended_at: null },
          {
            $set: { grant_ended_at: now, look_due_at: null, acknowledge_due_at: null },
            $inc: { version: 1 },
          },
          { session, returnDocument: 'after' },
        )
        .lean<StorePurchaseDocument>();
      return marked === null ? undefined : { purchase: toPurchase(marked), version: marked.version };
    },
  };
};
