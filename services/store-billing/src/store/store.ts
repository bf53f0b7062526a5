/** Everything that this service keeps. */
import type { Random } from '@fitness/shared/clock.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction, type TransactionOptions } from '@fitness/shared/mongo/transaction.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { createGrants, type Grants } from './grants.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { registerModels } from './models.ts';
import { createPurchases, isAlreadyRedeemed, type Purchases } from './purchases.ts';
import { createRefunds, type Refunds } from './refunds.ts';
import { createSlots, isSlotAppeared, type Slots } from './slots.ts';
import { createWalletPurchases, type WalletPurchases } from './wallet-purchases.ts';

export interface BillingStore {
  ledger: Ledger;
  slots: Slots;
  grants: Grants;
  purchases: Purchases;
  attempts: Attempts;
  refunds: Refunds;
  walletPurchases: WalletPurchases;
  transaction<T>(work: (session: ClientSession) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Whether a transaction ended because the token has its receipt already. */
  isAlreadyRedeemed(error: unknown): boolean;
  /** Whether a transaction ended because the slot that it wanted to make is there already. */
  isSlotAppeared(error: unknown): boolean;
}

export const createStore = (connection: Connection, sequences: Sequences, random: Random): BillingStore => {
  const models = registerModels(connection);
  return {
    ledger: createLedger(connection, models),
    slots: createSlots(models),
    grants: createGrants(models, sequences),
    purchases: createPurchases(models),
    attempts: createAttempts(models, random),
    refunds: createRefunds(models, sequences),
    walletPurchases: createWalletPurchases(models),
    transaction: (work, options) => inTransaction(connection, work, options),
    isAlreadyRedeemed,
    isSlotAppeared,
  };
};
