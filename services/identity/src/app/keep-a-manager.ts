/** Whatever is taken from roles and accounts, somebody can still give roles: nobody could undo it otherwise. */
import { conflict, message } from '@fitness/shared/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { permissionsOf, type Role } from '../domain/roles.ts';
import type { RoleStore } from '../store/roles.ts';
import type { UserStore } from '../store/users.ts';

export const MANAGING = 'roles.manage';

const lastManager = () => conflict('roles.last_manager', message('roles.last_manager'));

export const managesRoles = (roles: readonly Role[]): boolean => permissionsOf(roles).has(MANAGING);

/**
 * 409 unless an account remains that may manage roles, without this user or this role. It must not be on its way out
 * itself. That account is written to, so that of two who take the permission from each other one comes first, and the
 * other finds nobody left.
 */
export const assertManagerRemains = async (
  { users, roles }: { users: UserStore; roles: RoleStore },
  session: ClientSession,
  without: { userId?: number; roleId?: number },
): Promise<void> => {
  const managing = (await roles.findAll(session)).filter(
    (role) => role._id !== without.roleId && managesRoles([role]),
  );
  const roleIds = managing.map((role) => role._id);
  const remaining = await users.findHolder(roleIds, without.userId, session);
  if (remaining === undefined || !(await users.pin(session, remaining))) throw lastManager();
};
