import { describe, expect, test } from '@jest/globals';
import {
  effectivePermissions,
  grantablePermissions,
  holdsAll,
  permissionsOf,
  SEEDED_ROLES,
} from './roles.ts';

describe('roles', () => {
  test('grant the union of their permissions; unknown permissions are ignored', () => {
    const role = (permissions: string[]) => ({ _id: 9, name: 'x', title: 'X', permissions });
    expect(permissionsOf([role(['posts.view']), role(['posts.view', 'gyms.create', 'gone.away'])])).toEqual(
      new Set(['posts.view', 'gyms.create']),
    );
  });

  test('a token never has more permissions than its user', () => {
    const held = new Set(['posts.view', 'gyms.create'] as const);
    expect(effectivePermissions({ permissions: null }, held)).toEqual(['posts.view', 'gyms.create']);
    expect(effectivePermissions({ permissions: ['gyms.create', 'users.delete'] }, held)).toEqual([
      'gyms.create',
    ]);
    expect(effectivePermissions({ permissions: [] }, held)).toEqual([]);
  });

  test('an app could get what its user has and can delegate', () => {
    const held = new Set(['posts.view', 'gyms.create', 'users.delete'] as const);
    const scoped = { permissions: ['posts.view'] };
    expect(grantablePermissions({ kind: 'oauth', ...scoped }, held)).toEqual(['gyms.create']);
    expect(grantablePermissions({ kind: 'personal', ...scoped }, held)).toEqual([]);
    expect(grantablePermissions({ kind: 'session', permissions: null }, held)).toEqual([]);
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
