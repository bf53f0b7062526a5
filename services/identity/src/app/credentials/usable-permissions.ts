/** Roles with an operator's permission cannot be used without a second factor, where it is required (ADR 38). */
import { OPERATOR_PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Dependencies } from '../../dependencies.ts';
import { operatorPermissionsIn, permissionsOf } from '../../domain/roles.ts';
import type { User } from '../../domain/user.ts';

/**
 * What the roles of a user permit, and what they would permit besides if the user had a second factor. `hasSecondFactor` is
 * false where no role has an operator's permission.
 */
export type UsablePermissions = (
  user: Pick<User, '_id' | 'role_ids'>,
) => Promise<{ held: ReadonlySet<Permission>; withheld: readonly Permission[]; hasSecondFactor: boolean }>;

export const createUsablePermissions =
  ({
    store,
    staffNeedsSecondFactor,
  }: Pick<Dependencies, 'store' | 'staffNeedsSecondFactor'>): UsablePermissions =>
  async ({ _id: userId, role_ids: roleIds }) => {
    const held = permissionsOf(await store.roles.findMany(roleIds));
    const ofOperators = operatorPermissionsIn(held);
    const hasSecondFactor = ofOperators.length > 0 && (await store.secondFactors.isArmed(userId));
    if (!staffNeedsSecondFactor || ofOperators.length === 0 || hasSecondFactor)
      return { held, withheld: [], hasSecondFactor };
    return {
      hasSecondFactor,
      held: new Set([...held].filter((one) => !OPERATOR_PERMISSIONS.has(one))),
      withheld: ofOperators,
    };
  };
