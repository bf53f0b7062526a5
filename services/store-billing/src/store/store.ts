/** The database of store-billing. */
import type { Clock, Random } from '@fitness/shared/kernel/clock.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction, type TransactionOptions } from '@fitness/shared/mongo/transaction.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { createGrants, type Grants } from './grants.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { registerModels } from './models.ts';
import { createPurchases, isAlreadyRedeemedError, type Purchases } from './purchases.ts';
import { createRefunds, type Refunds } from './refunds.ts';
import { createSlots, isSlotExistsError, type Slots } from './slots.ts';
import { createWalletPurchases, type WalletPurchases } from './wallet-purchases.ts';

export interface Store {
  ledger: Ledger;
  slots: Slots;
  grants: Grants;
  purchases: Purchases;
  attempts: Attempts;
  refunds: Refunds;
  walletPurchases: WalletPurchases;
  transaction<T>(work: (session: ClientSession) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Whether the transaction was aborted because the token has a receipt. */
  isAlreadyRedeemedError(error: unknown): boolean;
  /** Whether the transaction was aborted because the slot that it inserts exists. */
  isSlotExistsError(error: unknown): boolean;
}

/** `realTime` is the clock of leases and of tries at the store. */
export const createStore = (
  connection: Connection,
  sequences: Sequences,
  { random, realTime }: { random: Random; realTime: Clock },
): Store => {
  const models = registerModels(connection);
  return {
    ledger: createLedger(connection, models),
    slots: createSlots(models),
    grants: createGrants(models, sequences),
    purchases: createPurchases(models, realTime),
    attempts: createAttempts(models, { random, realTime }),
    refunds: createRefunds(models, sequences),
    walletPurchases: createWalletPurchases(models, realTime),
    transaction: (work, options) => inTransaction(connection, work, options),
    isAlreadyRedeemedError,
    isSlotExistsError,
  };
};
