/** The collections of store-billing's database. */
import type { Connection } from 'mongoose';
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

/** Registers the models on this connection, once. */
export const registerModels = (connection: Connection) => ({
  subscriptions: connection.model<SubscriptionDocument>('Subscription', subscriptions),
  boosts: connection.model<BoostDocument>('Boost', boosts),
  slots: connection.model<SlotDocument>('Slot', slots),
  storePurchases: connection.model<StorePurchaseDocument>('StorePurchase', storePurchases),
  attempts: connection.model<AttemptDocument>('StorePurchaseAttempt', attempts),
  refunds: connection.model<RefundDocument>('Refund', refunds),
  walletPurchases: connection.model<WalletPurchaseDocument>('WalletPurchase', walletPurchases),
});

export type Models = ReturnType<typeof registerModels>;
