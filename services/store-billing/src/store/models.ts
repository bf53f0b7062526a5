/** The collections of store-billing's database. */
import type { Connection, Model } from 'mongoose';
import {
  type BoostDocument,
  boosts,
  type SlotDocument,
  type SubscriptionDocument,
  slots,
  subscriptions,
} from './models/grants.ts';
import { type RefundDocument, refunds } from './models/refunds.ts';
import {
  type AttemptDocument,
  attempts,
  type StorePurchaseDocument,
  storePurchases,
} from './models/store-purchases.ts';
import { type WalletPurchaseDocument, walletPurchases } from './models/wallet-purchases.ts';

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
