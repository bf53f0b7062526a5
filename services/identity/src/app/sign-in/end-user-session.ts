/** An operator ends a session of another account, for example on a device that its owner has lost. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import { findManageableUser } from '../roles/manageable-user.ts';
import { createRevokeToken } from './revoke-token.ts';

/**
 * 403 for the caller's own account, whose sessions DELETE /auth/sessions/{id} ends, and for one that the caller may not manage; 404 for an
 * unknown account and for a session that it does not have.
 */
type EndUserSession = (caller: UserCaller, userId: number, sessionId: number) => Promise<void>;

export const createEndUserSession = (dependencies: Pick<Dependencies, 'store' | 'audit'>): EndUserSession => {
  const endSession = createRevokeToken(dependencies, 'session');
  return async (caller, userId, sessionId) => {
    if (caller.userId === userId) throw forbidden('the own account');
    await endSession(userId, sessionId, {
      before: (session) => findManageableUser(dependencies, caller, userId, session),
      after: (session) =>
        dependencies.audit.record(session, {
          actorId: caller.userId,
          action: 'session.end',
          subject: { type: 'user', id: userId },
          before: { personId: null, values: { session_id: sessionId } },
        }),
    });
  };
};
