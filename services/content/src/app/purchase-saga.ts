/**
 * The steps of a purchase after it is claimed as a pending trainee: book the payments at the wallet, then activate the
 * trainee. Every step can be repeated under the trainee's id. A purchase that is interrupted by a crash or a lost response
 * is resumed after its lease expires.
 */
import { badRequest, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { outsideRequest } from '@fitness/shared/kernel/request-scope.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { isPaid, type Trainee } from '../domain/trainee.ts';
import type { Attempt } from '../store/trainees.ts';
import { publishTraineePurchased } from './publish.ts';

export const createPurchaseSaga = (dependencies: Pick<Dependencies, 'store' | 'wallet' | 'outbox'>) => {
  const { store, wallet } = dependencies;
  /** Throws `unavailable` if another attempt has started since, because it may still pay. */
  const cancel = async (attempt: Attempt): Promise<void> => {
    const isCancelled = await store.transaction((session) => store.trainees.cancel(session, attempt));
    if (!isCancelled) throw unavailable(`the purchase ${attempt.trainee.traineeId} is not settled yet`);
  };
  return {
    cancel,
    /**
     * 400 for too low a balance, after the trainee is cancelled. Throws `unavailable` without a change if the outcome is
     * unknown, including a refusal while another attempt may still pay.
     */
    pay: async (attempt: Attempt): Promise<void> => {
      const { trainee, isAlone } = attempt;
      if ((await wallet.book(trainee)) === 'booked') return;
      if (!isAlone) {
        // Otherwise, repeats within the lease would extend it forever.
        await outsideRequest(() => store.trainees.endAttempt(attempt));
        throw unavailable(`the purchase ${trainee.traineeId} is not settled yet`);
      }
      await outsideRequest(() => cancel(attempt));
      throw badRequest('payments.insufficient_balance', message('payments.insufficient_balance'));
    },
    /** Makes a paid trainee active. `finish` runs last in the same transaction, even if the trainee was active before. */
    activate: <Result>(
      id: number,
      finish: (session: ClientSession, trainee: Trainee) => Promise<Result>,
    ): Promise<Result> =>
      store.transaction(async (session) => {
        const activated = await store.trainees.activate(session, id);
        const trainee = activated ?? (await store.trainees.find(id, session));
        if (trainee === undefined || !isPaid(trainee))
          throw new Error(`Trainee ${id} is paid but cannot be active`);
        if (activated !== undefined) await publishTraineePurchased(dependencies, session, activated);
        return finish(session, trainee);
      }),
  };
};
