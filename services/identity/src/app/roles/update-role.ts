import { changesOf } from '@fitness/shared/audit/actions.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { conflict, forbidden, message, notFound } from '@fitness/shared/kernel/error.ts';
import { PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Dependencies } from '../../dependencies.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import { ADMINISTRATOR_ROLE_ID, holdsAll, permissionsOf, type Role } from '../../domain/roles.ts';
import { assertRoleManagerRemains, canManageRoles, ROLE_MANAGEMENT } from './role-managers.ts';

interface RoleChanges {
  title?: string | undefined;
  permissions?: readonly Permission[] | undefined;
}

/**
 * 404: no such role. 403: the role has, or would get, a permission that the caller lacks. 409: nobody could manage roles any
 * more, or administrators would lose a permission.
 */
type UpdateRole = (caller: UserCaller, id: number, changes: RoleChanges) => Promise<Role>;

export const createUpdateRole =
  ({ store, audit }: Dependencies): UpdateRole =>
  (caller, id, { title, permissions }) =>
    store.transaction(async (session) => {
      const role = await store.roles.find(id, session);
      if (role === null) throw notFound();
      const concerned = [...permissionsOf([role]), ...(permissions ?? [])];
      if (!holdsAll(caller.permissions, concerned)) {
        throw forbidden('the role has a permission that the caller lacks');
      }
      if (permissions !== undefined && id === ADMINISTRATOR_ROLE_ID) assertEveryPermission(permissions);
      if (permissions !== undefined && canManageRoles([role]) && !permissions.includes(ROLE_MANAGEMENT)) {
        await assertRoleManagerRemains({ store }, session, { roleId: id });
      }
      const unique = permissions === undefined ? undefined : [...new Set(permissions)];
      const updated = await store.roles.update(session, id, omitUndefined({ title, permissions: unique }));
      if (updated === null) throw notFound();
      const change = changesOf(role, updated);
      if (change !== undefined) {
        await audit.record(session, {
          actorId: caller.userId,
          action: 'role.update',
          subject: { type: 'role', id },
          before: { personId: null, values: change.before },
          after: { personId: null, values: change.after },
        });
      }
      return updated;
    });

/** Only holders of a permission can assign it. One role keeps all permissions, so that each always has a holder. */
const assertEveryPermission = (permissions: readonly Permission[]): void => {
  if (PERMISSIONS.every((permission) => permissions.includes(permission))) return;
  throw conflict('roles.administrators_keep_all', message('roles.administrators_keep_all'));
};
