/** An operator deletes somebody else's account, at once; what blocks its owner blocks him too. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound } from '@fitness/shared/error.ts';
import type { Blockers } from '../clients/blockers.ts';
import type { RoleStore } from '../store/roles.ts';
import { findWithinReach } from './administer-users.ts';
import { deletionBlocked } from './delete-account.ts';
import { type EraseAccountParts, eraseAccount } from './erase-account.ts';
import { assertManagerRemains, managesRoles } from './keep-a-manager.ts';
import type { Transact } from './transact.ts';

export interface DeleteUserParts extends EraseAccountParts {
  roles: RoleStore;
  blockers: Blockers;
  transact: Transact;
}

/**
 * 403 for the own account; 404; 403 for an account with a permission that the caller lacks; 409 blocked, or
 * nobody else could manage roles; 503 a blocker
 * unknown, and nothing is erased.
 */
export type DeleteUser = (caller: UserCaller, userId: number) => Promise<void>;

export const createDeleteUser =
  (parts: DeleteUserParts): DeleteUser =>
  async (caller, userId) => {
    if (caller.userId === userId) throw forbidden('the own account');
    await findWithinReach(parts, caller, userId);
    const applied = await parts.blockers.evaluate(userId);
    if (applied.length > 0) throw deletionBlocked(applied);
    await parts.transact(async (session) => {
      // Again, on what the transaction sees: roles may have been given since.
      const user = await findWithinReach(parts, caller, userId, session);
      if (managesRoles(await parts.roles.findByIds(user.role_ids, session))) {
        await assertManagerRemains(parts, session, { userId });
      }
      if (!(await eraseAccount(parts, session, userId))) throw notFound();
    });
  };
