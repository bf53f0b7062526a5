import { isPermission, PERMISSIONS, type Permission } from '@fitness/shared/permissions.ts';

export interface Role {
  _id: number;
  name: string;
  title: string;
  permissions: string[];
}

export const MEMBER_ROLE_ID = 1;
const OPERATOR_ROLE_ID = 2;
export const ADMINISTRATOR_ROLE_ID = 3;

/** What a new installation has; later edits stay, but administrators get what permissions have come since. */
export const SEEDED_ROLES: readonly Role[] = [
  {
    _id: MEMBER_ROLE_ID,
    name: 'member',
    title: 'Member',
    permissions: [
      'users.view_limited',
      'gyms.create',
      'gyms.update',
      'posts.create',
      'posts.view',
      'training_services.create',
      'payments.view_own',
      'payments.buy_premium',
      'payments.boost_own',
    ] satisfies Permission[],
  },
  {
    _id: OPERATOR_ROLE_ID,
    name: 'operator',
    title: 'Operator',
    permissions: PERMISSIONS.filter((permission) => permission !== 'roles.manage'),
  },
  {
    _id: ADMINISTRATOR_ROLE_ID,
    name: 'administrator',
    title: 'Administrator',
    permissions: [...PERMISSIONS],
  },
];

/** Everything that these roles allow together. */
export const permissionsOf = (roles: readonly Role[]): Set<Permission> =>
  new Set(roles.flatMap((role) => role.permissions.filter(isPermission)));

/** What a token carries: the user's permissions, cut down to the token's own (null: not cut). */
export const carriedBy = (
  token: { permissions: readonly string[] | null },
  held: ReadonlySet<Permission>,
): Permission[] => {
  const own = token.permissions;
  return [...held].filter((permission) => own === null || own.includes(permission));
};

/** Nobody gives, edits or deletes what is above himself. */
export const holdsAll = (held: ReadonlySet<string>, needed: Iterable<string>): boolean =>
  [...needed].every((permission) => held.has(permission));
