import { isAppError } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { createPurchaseSaga } from './purchase-saga.ts';

const BATCH = 50;

/** One round: finishes or cancels interrupted purchases, or leaves them for the next round. Returns how many ended. */
export const createFinishPurchases = (
  dependencies: Pick<Dependencies, 'store' | 'wallet' | 'outbox' | 'log'>,
) => {
  const { store, log } = dependencies;
  const { pay, activate } = createPurchaseSaga(dependencies);
  return async (): Promise<number> => {
    let ended = 0;
    for (const id of await store.trainees.interrupted(BATCH)) {
      const attempt = await store.trainees.resumeInterrupted(id);
      if (attempt === undefined) continue;
      try {
        await pay(attempt);
        await activate(id, async () => undefined);
        ended += 1;
      } catch (error) {
        if (isAppError(error) && error.code === 'payments.insufficient_balance') ended += 1;
        else log.warn({ err: error, trainee_id: id }, 'an interrupted purchase is still open');
      }
    }
    return ended;
  };
};
