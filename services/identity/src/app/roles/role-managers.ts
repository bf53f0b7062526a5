/** An account that can manage roles must remain, because only such an account can assign that permission again. */
import { conflict, message } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { permissionsOf, type Role } from '../../domain/roles.ts';

export const ROLE_MANAGEMENT: Permission = 'roles.manage';

interface Removed {
  userId?: number;
  roleId?: number;
}

export const canManageRoles = (roles: readonly Role[]): boolean => permissionsOf(roles).has(ROLE_MANAGEMENT);

export const NO_ROLE_MANAGER = message('roles.last_manager');

/**
 * Whether another account without a pending deletion can manage roles once this user or role no longer can. Writes to the
 * remaining account. Two transactions that remove the permission from each other's account therefore conflict, and the second
 * one finds no remaining account.
 */
export const roleManagerRemains = async (
  { store }: Pick<Dependencies, 'store'>,
  session: ClientSession,
  removed: Removed,
): Promise<boolean> => {
  const managing = (await store.roles.findAll(session)).filter(
    (role) => role._id !== removed.roleId && canManageRoles([role]),
  );
  const roleIds = managing.map((role) => role._id);
  const remaining = await store.users.findHolder(roleIds, removed.userId, session);
  return remaining !== undefined && (await store.users.touchIfLive(session, remaining));
};

/** 409 unless {@link roleManagerRemains}. */
export const assertRoleManagerRemains = async (
  dependencies: Pick<Dependencies, 'store'>,
  session: ClientSession,
  removed: Removed,
): Promise<void> => {
  if (!(await roleManagerRemains(dependencies, session, removed)))
    throw conflict('roles.last_manager', NO_ROLE_MANAGER);
};
