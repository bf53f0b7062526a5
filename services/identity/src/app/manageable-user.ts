import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { holdsAll, permissionsOf } from '../domain/roles.ts';
import type { User } from '../domain/user.ts';

/** 404 for an unknown account; 403 for one with a permission that the caller lacks. */
export const findManageableUser = async (
  { users, roles }: Pick<Dependencies, 'users' | 'roles'>,
  caller: UserCaller,
  userId: number,
  session?: ClientSession,
): Promise<User> => {
  const user = await users.findById(userId, session);
  if (user === null) throw notFound();
  const held = permissionsOf(await roles.findByIds(user.role_ids, session));
  if (!holdsAll(caller.permissions, held))
    throw forbidden('the account has a permission that the caller lacks');
  return user;
};
