/** Everything that this service keeps. */
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { createGrants, type Grants } from './grants.ts';
import { registerModels } from './models.ts';
import { createPurchases, isAlreadyRedeemed, type Purchases } from './purchases.ts';
import { createRefunds, type Refunds } from './refunds.ts';
import { createSlots, type Slots } from './slots.ts';
import { createWalletPurchases, type WalletPurchases } from './wallet-purchases.ts';

export interface BillingStore {
  slots: Slots;
  grants: Grants;
  purchases: Purchases;
  attempts: Attempts;
  refunds: Refunds;
  walletPurchases: WalletPurchases;
  transaction<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
  /** Whether a transaction ended because the token has its receipt already. */
  isAlreadyRedeemed(error: unknown): boolean;
}

export const createStore = (connection: Connection, sequences: Sequences): BillingStore => {
  const models = registerModels(connection);
  return {
    slots: createSlots(models),
    grants: createGrants(models, sequences),
    purchases: createPurchases(models, sequences),
    attempts: createAttempts(models),
    refunds: createRefunds(models, sequences),
    walletPurchases: createWalletPurchases(models),
    transaction: (work) => inTransaction(connection, work),
    isAlreadyRedeemed,
  };
};
