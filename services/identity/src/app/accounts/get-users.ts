import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Dependencies } from '../../dependencies.ts';
import { operatorPermissionsIn, permissionsOf } from '../../domain/roles.ts';
import type { User } from '../../domain/user.ts';

export interface FoundUser {
  user: User;
  operatorPermissions: readonly Permission[];
}

/** Returns live accounts. Unknown and erased ids are missing. */
export const createGetUsers =
  ({ store }: Dependencies) =>
  async (ids: readonly number[]): Promise<FoundUser[]> => {
    const users = await store.users.findMany(ids);
    const roles = await store.roles.findMany([...new Set(users.flatMap((user) => user.role_ids))]);
    return users.map((user) => {
      const permissions = permissionsOf(roles.filter((role) => user.role_ids.includes(role._id)));
      return { user, operatorPermissions: operatorPermissionsIn(permissions) };
    });
  };
