/** An operator's removal of a second factor that its user has lost, or that someone else has set up. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import { findManageableUser } from '../roles/manageable-user.ts';
import { publishCredentialsRevoked } from './publish-credentials-revoked.ts';
import type { SecurityNotices } from './security-notices.ts';

/**
 * Revokes every credential of the account. Changes nothing when no second factor is armed. 404: no such account. 403: an
 * account that the caller may not manage, or the caller's own, because DELETE /auth/second-factor asks for the password and
 * a code.
 */
type RemoveSecondFactor = (caller: UserCaller, userId: number) => Promise<void>;

export const createRemoveSecondFactor =
  (dependencies: Dependencies & { securityNotices: SecurityNotices }): RemoveSecondFactor =>
  async (caller, userId) => {
    const { store, audit, securityNotices } = dependencies;
    if (caller.userId === userId)
      throw forbidden('callers turn off their own second factor with DELETE /auth/second-factor');
    await store.transaction(async (session) => {
      const user = await findManageableUser(dependencies, caller, userId, session);
      // Named even for a repetition, because the response to an earlier call may have been lost.
      store.revocations.add(session, userId);
      const factor = await store.secondFactors.find(userId, session);
      if (factor === null || factor.secret === null) return;
      await store.secondFactors.delete(session, userId);
      // The person who has set it up may not be the owner.
      await store.tokens.revokeAll(session, userId);
      const account = { userId, version: user.version };
      await publishCredentialsRevoked(dependencies, session, account, 'second_factor_removed');
      await securityNotices.notify(session, user, 'second_factor_removed', 'operator');
      await audit.record(session, {
        actorId: caller.userId,
        action: 'second_factor.remove',
        subject: { type: 'user', id: userId },
        before: { personId: null, values: { armed: true } },
        after: { personId: null, values: { armed: false } },
      });
    });
  };
