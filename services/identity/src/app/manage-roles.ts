/** Roles and what they allow. Nobody gives a permission that he lacks, nor takes from a role that is above him. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { conflict, forbidden, message, notFound } from '@fitness/shared/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { PERMISSIONS, type Permission } from '@fitness/shared/permissions.ts';
import { given } from '../domain/changes.ts';
import { ADMINISTRATOR_ROLE_ID, holdsAll, permissionsOf, type Role } from '../domain/roles.ts';
import type { RoleStore } from '../store/roles.ts';
import type { UserStore } from '../store/users.ts';
import { assertManagerRemains, MANAGING, managesRoles } from './keep-a-manager.ts';
import type { Transact } from './transact.ts';

interface RoleChanges {
  title?: string | undefined;
  permissions?: readonly Permission[] | undefined;
}

export interface ManageRoles {
  /** By id. */
  list(request: PageRequest): Promise<PageOf<Role>>;
  /**
   * 404; 403 when the role has, or would get, a permission that the caller lacks; 409 when nobody could manage roles, or
   * administrators would lack a permission.
   */
  update(caller: UserCaller, id: number, changes: RoleChanges): Promise<Role>;
}

/**
 * Nobody gives what he lacks: a permission that the last who had it have lost could never be given again. One role
 * therefore keeps all of them, `roles.manage` among them.
 */
const assertWhole = (permissions: readonly Permission[]): void => {
  if (PERMISSIONS.every((permission) => permissions.includes(permission))) return;
  throw conflict('roles.administrators_keep_all', message('roles.administrators_keep_all'));
};

export const createManageRoles = ({
  users,
  roles,
  transact,
}: {
  users: UserStore;
  roles: RoleStore;
  transact: Transact;
}): ManageRoles => ({
  list: async (request) => {
    const all = await roles.findAll();
    const start =
      request.mode === 'page' ? request.skip : all.findIndex((role) => role._id > (request.after[0] ?? 0));
    const rows = start < 0 ? [] : all.slice(start, start + request.perPage);
    const last = rows.at(-1);
    const more = last !== undefined && last !== all.at(-1);
    return { rows, total: all.length, next: more ? [last._id] : undefined };
  },

  update: (caller, id, { title, permissions }) =>
    transact(async (session) => {
      const role = await roles.findById(id, session);
      if (role === null) throw notFound();
      const touched = [...permissionsOf([role]), ...(permissions ?? [])];
      if (!holdsAll(caller.permissions, touched)) throw forbidden('the role may do more than the caller');
      if (permissions !== undefined && id === ADMINISTRATOR_ROLE_ID) assertWhole(permissions);
      if (permissions !== undefined && managesRoles([role]) && !permissions.includes(MANAGING)) {
        await assertManagerRemains({ users, roles }, session, { roleId: id });
      }
      const unique = permissions === undefined ? undefined : [...new Set(permissions)];
      const updated = await roles.update(session, id, given({ title, permissions: unique }));
      if (updated === null) throw notFound();
      return updated;
    }),
});
