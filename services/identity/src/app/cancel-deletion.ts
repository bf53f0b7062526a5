import { unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import type { User } from '../domain/user.ts';
import { publishDeletionCancelled } from './publish.ts';

/** The account afterwards; also when no deletion was pending, because a client may repeat the request. */
type CancelDeletion = (userId: number) => Promise<User>;

export const createCancelDeletion =
  ({ users, outbox, transact }: Pick<Dependencies, 'users' | 'outbox' | 'transact'>): CancelDeletion =>
  (userId) =>
    transact(async (session) => {
      const restored = await users.cancelDeletion(session, userId);
      if (restored === null) {
        const user = await users.findById(userId, session);
        if (user === null) throw unauthenticated();
        return user;
      }
      await publishDeletionCancelled({ outbox }, session, { userId, version: restored.version });
      return restored;
    });
