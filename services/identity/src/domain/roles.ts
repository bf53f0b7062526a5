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

/** With any of these, the account is that of an operator. */
export const operatorPermissionsIn = (held: Iterable<Permission>): Permission[] =>
  [...held].filter((permission) => OPERATOR_PERMISSIONS.has(permission));

/** The user's permissions, restricted to those of the token (null: unrestricted). */
export const effectivePermissions = (
  token: { permissions: readonly string[] | null },
  held: Iterable<Permission>,
): Permission[] => {
  const own = token.permissions;
  return [...held].filter((permission) => own === null || own.includes(permission));
};

/** What an app could have besides, if its user gave it; nothing for other kinds of token. */
export const grantablePermissions = (
  token: { kind: TokenKind; permissions: readonly string[] | null },
  held: ReadonlySet<Permission>,
): Permission[] =>
  token.kind === 'oauth'
    ? DELEGABLE_PERMISSIONS.filter(
        (permission) => held.has(permission) && token.permissions?.includes(permission) === false,
      )
    : [];

/** Users manage only accounts and roles whose permissions they hold themselves. */
export const holdsAll = (held: ReadonlySet<string>, needed: Iterable<string>): boolean =>
  [...needed].every((permission) => held.has(permission));
