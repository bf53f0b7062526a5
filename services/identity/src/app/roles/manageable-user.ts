import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { holdsAll, operatorPermissionsIn, permissionsOf } from '../../domain/roles.ts';
import type { User } from '../../domain/user.ts';
import { ROLE_MANAGEMENT } from './role-managers.ts';

/**
 * Returns an account that the caller may manage. 404: unknown account. 403: an account with a permission that the caller
 * lacks, or another operator's account unless the caller manages roles. Anyone who changes a colleague's phone, or removes
 * their second factor, could sign in as them.
 */
export const findManageableUser = async (
  { store }: Pick<Dependencies, 'store'>,
  caller: UserCaller,
  userId: number,
  session?: ClientSession,
): Promise<User> => {
  const user = await store.users.find(userId, session);
  if (user === null) throw notFound();
  const permissions = permissionsOf(await store.roles.findMany(user.role_ids, session));
  if (!holdsAll(caller.permissions, permissions))
    throw forbidden('the account has a permission that the caller lacks');
  const isColleague = caller.userId !== userId && operatorPermissionsIn(permissions).length > 0;
  if (isColleague && !can(caller, ROLE_MANAGEMENT))
    throw forbidden('accounts of operators need roles.manage');
  return user;
};
