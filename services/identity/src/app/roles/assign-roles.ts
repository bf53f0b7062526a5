/** What an operator needs to change the roles of an account. */
import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { holdsAll, MEMBER_ROLE_ID, permissionsOf } from '../../domain/roles.ts';
import type { User } from '../../domain/user.ts';
import { assertRoleManagerRemains, canManageRoles, ROLE_MANAGEMENT } from './role-managers.ts';

type Stores = Pick<Dependencies, 'store'>;

/** The roles that are added or removed. */
export const changedRoles = (before: readonly number[], after: readonly number[]): number[] => [
  ...before.filter((id) => !after.includes(id)),
  ...after.filter((id) => !before.includes(id)),
];

/** Throws 422 for an unknown role. */
export const assertRolesExist = async ({ store }: Stores, roleIds: readonly number[]): Promise<void> => {
  const roles = await store.roles.findMany(roleIds);
  if (roles.length < new Set(roleIds).size) throw invalid({ role_ids: message('validation.unknown') });
};

/** Throws 403 for a role with a permission that the caller lacks, and for any role but `member` without `roles.manage`. */
export const assertCanAssign = async (
  { store }: Stores,
  caller: UserCaller,
  user: User,
  roleIds: readonly number[],
  session?: ClientSession,
): Promise<void> => {
  const changed = changedRoles(user.role_ids, roleIds);
  if (changed.some((id) => id !== MEMBER_ROLE_ID) && !can(caller, ROLE_MANAGEMENT)) {
    throw forbidden('roles need roles.manage');
  }
  const allowed = permissionsOf(await store.roles.findMany(roleIds, session));
  if (!holdsAll(caller.permissions, allowed)) {
    throw forbidden('the role has a permission that the caller lacks');
  }
};

/** Throws 409 when nobody could manage roles any more. */
export const assertNotLastManager = async (
  dependencies: Stores,
  current: User,
  roleIds: readonly number[],
  session: ClientSession,
): Promise<void> => {
  const { roles } = dependencies.store;
  if (canManageRoles(await roles.findMany(roleIds, session))) return;
  if (!canManageRoles(await roles.findMany(current.role_ids, session))) return;
  await assertRoleManagerRemains(dependencies, session, { userId: current._id });
};
