/** Requests with malicious values in each field and query parameter. */
import { expect } from '@jest/globals';
import { type Harness, newAddress, PASSWORD, type Person, registration } from './support.ts';

export const MALICIOUS_VALUES: unknown[] = [
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
export const FIELDS = BODIES.flatMap(([method, path, names]) =>
  names.map((name) => [method, path, name] as const),
);

export const expectNoFailure = async (
  { send }: Harness,
  { caller: as }: Person,
  [method, path, field]: (typeof FIELDS)[number],
  values: readonly unknown[] = MALICIOUS_VALUES,
): Promise<void> => {
  const valid = path === '/auth/register' ? registration() : { login: 'a.b', password: PASSWORD, name: 'x' };
  for (const value of values) {
    const body = { ...valid, [field]: value };
    const { status } = await send(method, path, { as, body, headers: newAddress() });
    expect([method, path, field, value, status < 500]).toEqual([method, path, field, value, true]);
  }
};

export const QUERIES = ['search', 'is_trainer', 'order', 'role', 'page', 'per_page', 'cursor'];
export const QUERY_VALUES: readonly string[] = [
  ...MALICIOUS_VALUES.filter((value): value is string => typeof value === 'string' && value.length < 5_000),
  ...['999999999', '0', '%', '[]', '{"$ne":1}', 'W251bGxd', 'WzFlMzA4XQ'],
];

export const expectNoFailureOfQuery = async (
  { send }: Harness,
  { caller: as }: Person,
  name: string,
  values: readonly string[] = QUERY_VALUES,
): Promise<void> => {
  const queries = values.map((value) => new URLSearchParams([[name, value]]).toString());
  for (const query of [...queries, `${name}=1&${name}=2`, `${name}[$ne]=1`]) {
    const { status } = await send('GET', `/users?${query}`, { as });
    expect([query, status < 500]).toEqual([query, true]);
  }
};
