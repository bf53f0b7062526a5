import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { holdsAll, permissionsOf } from '../domain/roles.ts';
import type { User } from '../domain/user.ts';

/** 404 for an unknown account; 403 for one with a permission that the caller lacks. */
export const findManageableUser = async (
  { store }: Pick<Dependencies, 'store'>,
  caller: UserCaller,
  userId: number,
  session?: ClientSession,
): Promise<User> => {
  const user = await store.users.find(userId, session);
  if (user === null) throw notFound();
  const held = permissionsOf(await store.roles.findMany(user.role_ids, session));
  if (!holdsAll(caller.permissions, held))
    throw forbidden('the account has a permission that the caller lacks');
  return user;
};
