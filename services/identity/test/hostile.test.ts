import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, joinAs, PASSWORD, type Person, registration, startHarness } from './support.ts';

let harness: Harness;
let administrator: Person;
beforeAll(async () => {
  harness = await startHarness();
  administrator = await joinAs(harness, 'administrator');
});
afterAll(() => harness.close());

const MALICIOUS_VALUES: unknown[] = [
  'nul\u0000byte',
  '\ud800 lone surrogate',
  '‮right to left',
  '$where',
  { $ne: null },
  { $gt: '' },
  ['a', ['b']],
  [],
  {},
  true,
  0,
  -1,
  1e308,
  Number.MAX_SAFE_INTEGER + 2,
  null,
  '',
  'x'.repeat(100_000),
  '__proto__',
];

const BODIES: [string, string, string[]][] = [
  [
    'POST',
    '/auth/register',
    ['username', 'email', 'phone', 'password', 'first_name', 'last_name', 'referral_code'],
  ],
  ['POST', '/auth/login', ['login', 'password']],
  [
    'PUT',
    '/auth/me',
    [
      'username',
      'email',
      'phone',
      'first_name',
      'height',
      'birth_date',
      'gender',
      'is_trainer',
      'bank_account_number',
    ],
  ],
  ['PUT', '/auth/change-password', ['current_password', 'password']],
  ['POST', '/auth/tokens', ['name', 'permissions', 'expires_at']],
  [
    'PUT',
    '/users/1',
    [
      'role_ids',
      'trainer_license_approved',
      'trainer_license_rejection_reason',
      'trainer_license_media_id',
      'username',
    ],
  ],
  ['PUT', '/roles/1', ['title', 'permissions']],
];
const fields = BODIES.flatMap(([method, path, names]) => names.map((name) => [method, path, name] as const));

test.each(fields)('%s %s: no value of %s causes a 500', async (method, path, field) => {
  const valid = path === '/auth/register' ? registration() : { login: 'a.b', password: PASSWORD, name: 'x' };
  for (const [index, value] of MALICIOUS_VALUES.entries()) {
    const { status } = await harness.send(method, path, {
      as: administrator.caller,
      body: { ...valid, [field]: value },
      headers: { 'x-client-address': `10.9.${index}.${fields.findIndex((row) => row[2] === field)}` },
    });
    expect([value, status < 500]).toEqual([value, true]);
  }
});

const QUERIES = ['search', 'is_trainer', 'order', 'role', 'page', 'per_page', 'cursor'];
test.each(QUERIES)('GET /users: no value of %s causes a 500', async (name) => {
  const values = MALICIOUS_VALUES.filter(
    (value) => typeof value === 'string' && value.length < 5_000,
  ) as string[];
  for (const value of [...values, '999999999', '0', '%', '[]', '{"$ne":1}', 'W251bGxd', 'WzFlMzA4XQ']) {
    const query = new URLSearchParams([[name, value]]).toString();
    const { status } = await harness.send('GET', `/users?${query}`, { as: administrator.caller });
    expect([value, status < 500]).toEqual([value, true]);
  }
  const twice = await harness.send('GET', `/users?${name}=1&${name}=2`, { as: administrator.caller });
  expect(twice.status).toBeLessThan(500);
  const nested = await harness.send('GET', `/users?${name}[$ne]=1`, { as: administrator.caller });
  expect(nested.status).toBeLessThan(500);
});

test('a page far past the end is empty', async () => {
  const { status, body } = await harness.send('GET', '/users?page=100&per_page=100', {
    as: administrator.caller,
  });
  expect([status, body.data]).toEqual([200, []]);
});

test.each(['POST', 'PUT', 'DELETE'])(
  'an unsupported %s returns 405 with the allowed methods',
  async (method) => {
    const { status, headers } = await harness.send(method, '/users', { as: administrator.caller });
    expect(status).toBe(405);
    expect(headers.get('allow')).toContain('GET');
  },
);
