/** Receipts of redeemed store purchases. A token belongs to the user who redeemed it first. */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { createDueRowQueue } from '@fitness/shared/mongo/due-queue.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import {
  acknowledgeWaitMs,
  nextReconciliationAt,
  RECONCILIATION_RETRY_MS,
  type StorePurchase,
} from '../domain/purchase.ts';
import { insertUnvalidated } from './insert.ts';
import type { StorePurchaseDocument } from './models/store-purchases.ts';
import type { Models } from './models.ts';

/** Aborts the transaction: the token has a receipt. */
class AlreadyRedeemedError extends Error {
  override name = 'AlreadyRedeemedError';
}

export const isAlreadyRedeemedError = (error: unknown): boolean => error instanceof AlreadyRedeemedError;

export interface Purchases {
  /** Throws {@link AlreadyRedeemedError} if the token has a receipt. The caller holds the claim to acknowledge it. */
  insert(session: ClientSession, purchase: StorePurchase): Promise<void>;
  /** Receipts that are due to be acknowledged to the store; users take turns. */
  dueForAcknowledgement(channel: string, limit: number): Promise<StorePurchase[]>;
  /** Claims a due receipt until the next acknowledgement is due. False if another process holds it. */
  claimAcknowledgement(purchase: StorePurchase): Promise<boolean>;
  markAcknowledged(purchase: StorePurchase, at: Date): Promise<void>;
  /** Receipts that are due to be reconciled; users take turns. */
  dueForReconciliation(channel: string, now: Date, limit: number): Promise<StorePurchase[]>;
  /** Claims a due receipt for {@link RECONCILIATION_RETRY_MS}. False if another process holds it. */
  claimReconciliation(purchase: StorePurchase, now: Date): Promise<boolean>;
  /** If `next` is null, the receipt is not checked again. */
  scheduleReconciliation(purchase: StorePurchase, next: Date | null): Promise<void>;
  /** Marks that the grant ended because the store refunded the purchase. Undefined if it is already marked. */
  markGrantEnded(
    session: ClientSession,
    purchase: StorePurchase,
    now: Date,
  ): Promise<{ purchase: StorePurchase; version: number } | undefined>;
}

export const receiptKey = (channel: string, purchaseToken: string): string => `${channel}:${purchaseToken}`;

const keyOf = ({ channel, purchaseToken }: StorePurchase): string => receiptKey(channel, purchaseToken);

export const fromStorePurchaseDocument = (document: StorePurchaseDocument): StorePurchase => ({
  id: document.number,
  channel: document.channel,
  purchaseToken: document.purchase_token,
  productId: document.product_id,
  userId: document.user_id,
  grant:
    document.user_premium_subscription_id === null
      ? { kind: 'boost', id: document.marketing_boost_id as number }
      : { kind: 'premium', id: document.user_premium_subscription_id },
  createdAt: document.created_at,
  acknowledgeTries: document.acknowledge_tries,
});

const toStorePurchaseDocument = (purchase: StorePurchase, acknowledgeDueAt: Date): StorePurchaseDocument => ({
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
  acknowledge_tries: purchase.acknowledgeTries,
  acknowledge_due_at: acknowledgeDueAt,
  look_due_at: nextReconciliationAt(purchase.createdAt, purchase.createdAt),
  grant_ended_at: null,
  version: 1,
});

/** `realTime` is the clock of acknowledgements. */
export const createPurchases = ({ storePurchases }: Models, realTime: Clock): Purchases => {
  const turnsBy = (due: string) =>
    createDueRowQueue(storePurchases, { due, user: 'user_id' }, fromStorePurchaseDocument);
  const takeToAcknowledge = turnsBy('acknowledge_due_at');
  const takeToReconcile = turnsBy('look_due_at');
  const acknowledgeDueAt = (tries: number): Date =>
    new Date(realTime.now().getTime() + acknowledgeWaitMs(tries));
  return {
    insert: async (session, purchase) => {
      try {
        const document = toStorePurchaseDocument(purchase, acknowledgeDueAt(0));
        await insertUnvalidated(storePurchases, session, document);
      } catch (error) {
        // Two unique indexes cover the token, and the database reports one of them.
        const isTokenTaken = isDuplicateKey(error, '_id') || isDuplicateKey(error, 'purchase_token');
        throw isTokenTaken ? new AlreadyRedeemedError('', { cause: error }) : error;
      }
    },
    dueForAcknowledgement: (channel, limit) => takeToAcknowledge(realTime.now(), limit, { channel }),
    claimAcknowledgement: async (purchase) => {
      const until = acknowledgeDueAt(purchase.acknowledgeTries);
      const claimed = await storePurchases.updateOne(
        { _id: keyOf(purchase), acknowledge_due_at: trusted({ $lte: realTime.now() }) },
        { $set: { acknowledge_due_at: until }, $inc: { acknowledge_tries: 1 } },
      );
      return claimed.modifiedCount === 1;
    },
    markAcknowledged: async (purchase, at) => {
      await storePurchases.updateOne(
        { _id: keyOf(purchase) },
        { $set: { acknowledged_at: at, acknowledge_due_at: null } },
      );
    },
    dueForReconciliation: (channel, now, limit) => takeToReconcile(now, limit, { channel }),
    claimReconciliation: async (purchase, now) => {
      const claimed = await storePurchases.updateOne(
        { _id: keyOf(purchase), look_due_at: trusted({ $lte: now }) },
        { $set: { look_due_at: new Date(now.getTime() + RECONCILIATION_RETRY_MS) } },
      );
      return claimed.modifiedCount === 1;
    },
    scheduleReconciliation: async (purchase, next) => {
      await storePurchases.updateOne(
        { _id: keyOf(purchase), grant_ended_at: null },
        { $set: { look_due_at: next } },
      );
    },
    markGrantEnded: async (session, purchase, now) => {
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
      return marked === null
        ? undefined
        : { purchase: fromStorePurchaseDocument(marked), version: marked.version };
    },
  };
};
