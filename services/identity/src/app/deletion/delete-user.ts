/** An operator's deletion of another account, without a grace period. The same blockers apply as for the owner. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import { findManageableUser } from '../roles/manageable-user.ts';
import { canManageRoles, NO_ROLE_MANAGER, roleManagerRemains } from '../roles/role-managers.ts';
import { assertNoBlockers, deletionBlocked } from './deletion-blockers.ts';
import type { EraseAccount } from './erase-account.ts';

/**
 * 403: the caller's own account, or one that the caller may not manage. 404: no such account. 409: a blocker applies, or nobody
 * else could manage roles; then without blockers. 503: a blocker cannot be evaluated.
 */
type DeleteUser = (caller: UserCaller, userId: number) => Promise<void>;

export const createDeleteUser =
  (dependencies: Dependencies & { eraseAccount: EraseAccount }): DeleteUser =>
  async (caller, userId) => {
    const { store, audit, clock, eraseAccount } = dependencies;
    if (caller.userId === userId) throw forbidden('operators do not delete their own account');
    await findManageableUser(dependencies, caller, userId);
    await assertNoBlockers(dependencies, userId);
    await store.transaction(async (session) => {
      // Roles may have been assigned since the first check.
      const user = await findManageableUser(dependencies, caller, userId, session);
      const isManager = canManageRoles(await store.roles.findMany(user.role_ids, session));
      if (isManager && !(await roleManagerRemains(dependencies, session, { userId })))
        throw deletionBlocked([], NO_ROLE_MANAGER);
      if (!(await eraseAccount(session, userId))) throw notFound();
      await audit.record(session, {
        actorId: caller.userId,
        action: 'user.delete',
        subject: { type: 'user', id: userId },
        before: { personId: null, values: { erased_at: null } },
        after: { personId: null, values: { erased_at: clock.now() } },
      });
    });
  };
