/** An operator removes the second factor of somebody else, who has lost it or has not set it up themselves. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import { findManageableUser } from '../roles/manageable-user.ts';
import { publishCredentialsRevoked } from './publish-credentials-revoked.ts';
import type { SecurityNotices } from './security-notices.ts';

interface RemoveSecondFactorDependencies extends Pick<Dependencies, 'store' | 'audit' | 'outbox'> {
  securityNotices: SecurityNotices;
}

/**
 * Revokes every credential of the account, and changes nothing when no second factor is armed. 403 for the own account,
 * which DELETE /auth/second-factor asks for the password and a code, and for one that the caller may not manage; 404.
 */
type RemoveSecondFactor = (caller: UserCaller, userId: number) => Promise<void>;

export const createRemoveSecondFactor =
  (dependencies: RemoveSecondFactorDependencies): RemoveSecondFactor =>
  async (caller, userId) => {
    const { store, audit, securityNotices } = dependencies;
    if (caller.userId === userId) throw forbidden('the own account');
    await store.transaction(async (session) => {
      const user = await findManageableUser(dependencies, caller, userId, session);
      // Also for a repeat, which may be the first answer.
      store.revocations.add(session, userId);
      const factor = await store.secondFactors.find(userId, session);
      if (factor === null || factor.secret === null) return;
      await store.secondFactors.delete(session, userId);
      // Whoever has set it up may not be the owner.
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
