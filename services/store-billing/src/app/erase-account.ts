import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { premiumSlot } from '../domain/target.ts';
import { publishGrantEnded } from './publish.ts';

/**
 * One step, in the transaction of `session`. Ends the running subscription and closes the user's slot, so no subscription
 * can start again. Receipts and due refunds are kept.
 */
export const createEraseAccount = (dependencies: Dependencies) => {
  const { store, clock, idempotency } = dependencies;
  return async (session: ClientSession, userId: number): Promise<Rest> => {
    const now = clock.now();
    const running = await store.slots.close(session, premiumSlot(userId), now);
    const ended = running === null ? undefined : await store.grants.end(session, 'premium', running, now);
    if (ended !== undefined) await publishGrantEnded(dependencies, session, ended.grant, ended.version);
    return oneStep(
      (limit) => store.refunds.eraseNotes(session, userId, limit),
      (limit) => idempotency.eraseAccount(session, userId, limit),
    );
  };
};
