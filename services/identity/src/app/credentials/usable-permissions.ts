/** Where a second factor is required, operators' permissions cannot be used without one (ADR 38). */
import { OPERATOR_PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Dependencies } from '../../dependencies.ts';
import { operatorPermissionsIn, permissionsOf } from '../../domain/roles.ts';
import type { User } from '../../domain/user.ts';

/**
 * Returns the permissions that a user can use, and those that are withheld without a second factor. `hasSecondFactor` is
 * always false when no role has an operator's permission.
 */
export type UsablePermissions = (
  user: Pick<User, '_id' | 'role_ids'>,
) => Promise<{ usable: ReadonlySet<Permission>; withheld: readonly Permission[]; hasSecondFactor: boolean }>;

export const createUsablePermissions =
  ({ store, staffNeedsSecondFactor }: Dependencies): UsablePermissions =>
  async ({ _id: userId, role_ids: roleIds }) => {
    const granted = permissionsOf(await store.roles.findMany(roleIds));
    const ofOperators = operatorPermissionsIn(granted);
    const hasSecondFactor = ofOperators.length > 0 && (await store.secondFactors.isArmed(userId));
    if (!staffNeedsSecondFactor || ofOperators.length === 0 || hasSecondFactor)
      return { usable: granted, withheld: [], hasSecondFactor };
    return {
      hasSecondFactor,
      usable: new Set([...granted].filter((one) => !OPERATOR_PERMISSIONS.has(one))),
      withheld: ofOperators,
    };
  };
