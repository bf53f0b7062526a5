import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { premiumSlot } from '../domain/target.ts';

/**
 * One step, in the transaction of `session`. Ends the running subscription and closes the user's slot, so no subscription
 * can start again. Receipts and due refunds are kept.
 */
export const createEraseAccount =
  ({ store, clock, idempotency }: Dependencies) =>
  async (session: ClientSession, userId: number): Promise<Rest> => {
    const now = clock.now();
    const running = await store.slots.close(session, premiumSlot(userId), now);
    if (running !== null) await store.grants.end(session, 'premium', running, now);
    return oneStep(
      (limit) => store.refunds.eraseNotes(session, userId, limit),
      (limit) => idempotency.eraseAccount(session, userId, limit),
    );
  };
