import { accountDeletionCancelled } from '@fitness/proto/events/identity.ts';
import { unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { User } from '../../domain/user.ts';

/** Returns the account, even if no deletion was pending, because a client may repeat the request. */
type CancelDeletion = (userId: number) => Promise<User>;

export const createCancelDeletion =
  ({ store, outbox }: Dependencies): CancelDeletion =>
  (userId) =>
    store.transaction(async (session) => {
      const restored = await store.users.cancelDeletion(session, userId);
      if (restored === null) {
        const user = await store.users.find(userId, session);
        if (user === null) throw unauthenticated();
        return user;
      }
      await outbox.publish(session, accountDeletionCancelled, {
        subject: userId,
        aggregateVersion: restored.version,
        data: { user_id: userId },
      });
      return restored;
    });
