/** Finishes or undoes wallet purchases that a crash or a missing wallet response has left open. */
import type { Dependencies } from '../dependencies.ts';
import { BACKGROUND_OPTIONS, continueIfLeaseExpired } from './wallet-saga.ts';

const BATCH_SIZE = 50;

export const createSweepWalletPurchases = (dependencies: Dependencies) => async (): Promise<void> => {
  const { store, log } = dependencies;
  for (const id of await store.walletPurchases.due(BATCH_SIZE)) {
    try {
      await continueIfLeaseExpired(dependencies, id, BACKGROUND_OPTIONS);
    } catch (error) {
      log.error({ err: error, wallet_purchase: id }, 'a wallet purchase could not be continued');
    }
  }
};
