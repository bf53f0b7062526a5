import { describe, expect, test } from '@jest/globals';
import {
  effectivePermissions,
  grantablePermissions,
  holdsAll,
  permissionsOf,
  SEEDED_ROLES,
} from './roles.ts';

describe('roles', () => {
  test('roles grant the union of their permissions, and unknown permissions are ignored', () => {
    const role = (permissions: string[]) => ({ _id: 9, name: 'x', title: 'X', permissions });
    expect(permissionsOf([role(['posts.view']), role(['posts.view', 'gyms.create', 'gone.away'])])).toEqual(
      new Set(['posts.view', 'gyms.create']),
    );
  });

  test('a token never has more permissions than its user', () => {
    const userPermissions = new Set(['posts.view', 'gyms.create'] as const);
    expect(effectivePermissions({ permissions: null }, userPermissions)).toEqual([
      'posts.view',
      'gyms.create',
    ]);
    expect(effectivePermissions({ permissions: ['gyms.create', 'users.delete'] }, userPermissions)).toEqual([
      'gyms.create',
    ]);
    expect(effectivePermissions({ permissions: [] }, userPermissions)).toEqual([]);
  });

  test('an app can be granted the delegable permissions of its user that it does not have yet', () => {
    const userPermissions = new Set(['posts.view', 'gyms.create', 'users.delete'] as const);
    const scoped = { permissions: ['posts.view'] };
    expect(grantablePermissions({ kind: 'oauth', ...scoped }, userPermissions)).toEqual(['gyms.create']);
    expect(grantablePermissions({ kind: 'personal', ...scoped }, userPermissions)).toEqual([]);
    expect(grantablePermissions({ kind: 'session', permissions: null }, userPermissions)).toEqual([]);
  });

  test('holdsAll requires every permission', () => {
    expect(holdsAll(new Set(['a', 'b']), ['a'])).toBe(true);
    expect(holdsAll(new Set(['a']), ['a', 'b'])).toBe(false);
    expect(holdsAll(new Set(), [])).toBe(true);
  });

  test('only the administrator manages roles', () => {
    const managers = SEEDED_ROLES.filter((role) => role.permissions.includes('roles.manage'));
    expect(managers.map((role) => role.name)).toEqual(['administrator']);
  });
});
