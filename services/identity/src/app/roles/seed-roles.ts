import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import type { Dependencies } from '../../dependencies.ts';
import { ADMINISTRATOR_ROLE_ID, SEEDED_ROLES } from '../../domain/roles.ts';

/** Creates missing roles and keeps edited ones. Administrators receive the permissions that a release has added. */
export const createSeedRoles =
  ({ store }: Dependencies) =>
  async (): Promise<void> => {
    await store.roles.seed(SEEDED_ROLES);
    // Only holders of a permission can assign it. A permission without a holder could never be assigned.
    await store.transaction((session) =>
      store.roles.addPermissions(session, ADMINISTRATOR_ROLE_ID, PERMISSIONS),
    );
  };
