/** A token's receipt and grant, and the state of the slot that its grant would take, in one query. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import type { Grant } from '../domain/grant.ts';
import type { StorePurchase } from '../domain/purchase.ts';
import { fromBoostDocument, fromSubscriptionDocument } from './grants.ts';
import type { BoostDocument, SlotDocument, SubscriptionDocument } from './models/grants.ts';
import type { StorePurchaseDocument } from './models/store-purchases.ts';
import type { Models } from './models.ts';
import { fromStorePurchaseDocument, receiptKey } from './purchases.ts';
import { type SlotState, stateOf } from './slots.ts';

export interface RedeemedPurchase {
  purchase: StorePurchase;
  grant: Grant;
}

export interface LedgerView {
  /** Undefined while the token is not redeemed. */
  redeemed: RedeemedPurchase | undefined;
  slot: SlotState;
}

export interface Ledger {
  /** Call it outside any transaction. Throws if the grant of a receipt is missing. */
  read(token: { channel: string; purchaseToken: string }, slot: string, now: Date): Promise<LedgerView>;
}

interface LedgerRow {
  receipt?: StorePurchaseDocument;
  slots: SlotDocument[];
  subscriptions: SubscriptionDocument[];
  boosts: BoostDocument[];
}

export const createLedger = (connection: Connection, models: Models): Ledger => {
  const join = (model: { collection: { name: string } }, localField: string, as: keyof LedgerRow) => ({
    $lookup: { from: model.collection.name, localField, foreignField: '_id', as },
  });
  const joins = [
    join(models.slots, 'slot', 'slots'),
    join(models.storePurchases, 'key', 'receipt'),
    { $unwind: { path: '$receipt', preserveNullAndEmptyArrays: true } },
    join(models.subscriptions, 'receipt.user_premium_subscription_id', 'subscriptions'),
    join(models.boosts, 'receipt.marketing_boost_id', 'boosts'),
  ];
  return {
    read: async ({ channel, purchaseToken }, slot, now) => {
      // `$literal`, because a token may start with `$`.
      const input = { key: { $literal: receiptKey(channel, purchaseToken) }, slot: { $literal: slot } };
      const [row] =
        (await connection.db?.aggregate<LedgerRow>([{ $documents: [input] }, ...joins]).toArray()) ?? [];
      if (row === undefined) throw new Error('the ledger query returned no document');
      return { redeemed: redeemedOf(row), slot: stateOf(row.slots[0], now) };
    },
  };
};

const redeemedOf = ({ receipt, subscriptions, boosts }: LedgerRow): LedgerView['redeemed'] => {
  if (receipt === undefined) return undefined;
  const purchase = fromStorePurchaseDocument(receipt);
  const [subscription, boost] = [subscriptions[0], boosts[0]];
  if (purchase.grant.kind === 'premium' && subscription !== undefined)
    return { purchase, grant: fromSubscriptionDocument(subscription) };
  if (purchase.grant.kind === 'boost' && boost !== undefined)
    return { purchase, grant: fromBoostDocument(boost) };
  throw new Error(`the grant of the receipt ${purchase.id} is missing`);
};
