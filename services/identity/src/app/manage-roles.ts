/** Roles and what they allow. Nobody gives a permission that he lacks, nor takes from a role that is above him. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound } from '@fitness/shared/error.ts';
import type { Permission } from '@fitness/shared/permissions.ts';
import { given } from '../domain/changes.ts';
import { holdsAll, permissionsOf, type Role } from '../domain/roles.ts';
import type { RoleStore } from '../store/roles.ts';
import type { Transact } from './transact.ts';

export interface RoleChanges {
  title?: string | undefined;
  permissions?: readonly Permission[] | undefined;
}

export interface ManageRoles {
  list(): Promise<Role[]>;
  /** 404; 403 when the role has, or would get, a permission that the caller lacks. */
  update(caller: UserCaller, id: number, changes: RoleChanges): Promise<Role>;
}

export const createManageRoles = ({
  roles,
  transact,
}: {
  roles: RoleStore;
  transact: Transact;
}): ManageRoles => ({
  list: () => roles.findAll(),
  update: (caller, id, { title, permissions }) =>
    transact(async (session) => {
      const role = await roles.findById(id, session);
      if (role === null) throw notFound();
      const touched = [...permissionsOf([role]), ...(permissions ?? [])];
      if (!holdsAll(caller.permissions, touched)) throw forbidden('the role may do more than the caller');
      const unique = permissions === undefined ? undefined : [...new Set(permissions)];
      const updated = await roles.update(session, id, given({ title, permissions: unique }));
      if (updated === null) throw notFound();
      return updated;
    }),
});
