import { describe, expect, test } from '@jest/globals';
import { effectivePermissions, holdsAll, permissionsOf, SEEDED_ROLES } from './roles.ts';

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
