import {
  DELEGABLE_PERMISSIONS,
  isPermission,
  MEMBER_PERMISSIONS,
  OPERATOR_PERMISSIONS,
  PERMISSIONS,
  type Permission,
} from '@fitness/shared/kernel/permissions.ts';
import type { TokenKind } from './token.ts';

export interface Role {
  _id: number;
  name: string;
  title: string;
  permissions: string[];
}

export const MEMBER_ROLE_ID = 1;
const OPERATOR_ROLE_ID = 2;
export const ADMINISTRATOR_ROLE_ID = 3;

/** The roles of a new installation. Later edits are kept, but administrators receive new permissions at start. */
export const SEEDED_ROLES: readonly Role[] = [
  {
    _id: MEMBER_ROLE_ID,
    name: 'member',
    title: 'Member',
    permissions: [...MEMBER_PERMISSIONS],
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

/** The union of the permissions of these roles. */
export const permissionsOf = (roles: readonly Role[]): Set<Permission> =>
  new Set(roles.flatMap((role) => role.permissions.filter(isPermission)));

/** The permissions among these that make an account an operator's. */
export const operatorPermissionsIn = (permissions: Iterable<Permission>): Permission[] =>
  [...permissions].filter((permission) => OPERATOR_PERMISSIONS.has(permission));

/** The user's permissions, restricted to those of the token (null: unrestricted). */
export const effectivePermissions = (
  token: { permissions: readonly string[] | null },
  userPermissions: Iterable<Permission>,
): Permission[] => {
  const { permissions } = token;
  return [...userPermissions].filter(
    (permission) => permissions === null || permissions.includes(permission),
  );
};

/** Further permissions that the user could grant to an app; none for other kinds of token. */
export const grantablePermissions = (
  token: { kind: TokenKind; permissions: readonly string[] | null },
  userPermissions: ReadonlySet<Permission>,
): Permission[] =>
  token.kind === 'oauth'
    ? DELEGABLE_PERMISSIONS.filter(
        (permission) => userPermissions.has(permission) && token.permissions?.includes(permission) === false,
      )
    : [];

/** Users manage only accounts and roles whose permissions they hold themselves. */
export const holdsAll = (userPermissions: ReadonlySet<string>, required: Iterable<string>): boolean =>
  [...required].every((permission) => userPermissions.has(permission));
