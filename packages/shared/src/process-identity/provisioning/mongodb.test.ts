import { expect, test } from '@jest/globals';
import { atlasUsers, mongodbUsers } from './mongodb.ts';

const PASSWORDS = new Map([['wallet', 'secret-word']]);

test('every user has one custom role in Atlas, with what its roles allow elsewhere', () => {
  const { roles, users } = atlasUsers('seals_elsewhere', PASSWORDS);
  expect(users.map(({ username }) => username)).toEqual(mongodbUsers().map(({ name }) => name));
  expect(users.find(({ username }) => username === 'wallet')).toEqual({
    databaseName: 'admin',
    username: 'wallet',
    password: 'secret-word',
    roles: [{ databaseName: 'admin', roleName: 'fitness-wallet' }],
  });
  const seals = [
    { db: 'seals_elsewhere', collection: '' },
    { db: 'fitness_wallet_audit_seals', collection: '' },
  ];
  expect(roles.find(({ roleName }) => roleName === 'fitness-wallet')).toEqual({
    roleName: 'fitness-wallet',
    inheritedRoles: [{ role: 'readWrite', db: 'fitness_wallet' }],
    actions: ['FIND', 'INSERT', 'CREATE_COLLECTION'].map((action) => ({ action, resources: seals })),
  });
});

test("the operator's role in Atlas changes nothing but the counters and results of the audits", () => {
  const { roles } = atlasUsers();
  const operator = roles.find(({ roleName }) => roleName === 'fitness-operator');
  const resourcesOf = (action: string) =>
    operator?.actions.find((each) => each.action === action)?.resources.map(({ collection }) => collection);
  expect(new Set(resourcesOf('UPDATE'))).toEqual(new Set(['audit_results', 'audit_sequences']));
  expect(new Set(resourcesOf('INSERT'))).toEqual(
    new Set(['audit_entries', 'audit_results', 'audit_sequences']),
  );
  expect(operator?.inheritedRoles.filter(({ role }) => role !== 'read')).toEqual([]);
});

test('a role for Atlas has a name that Atlas accepts, and a user without a password has none', () => {
  const { roles, users } = atlasUsers();
  expect(roles.map(({ roleName }) => roleName).filter((name) => !/^[\w-]+$/.test(name))).toEqual([]);
  expect(JSON.stringify(users)).not.toContain('password');
});
