/**
 * Specification 2.1, rule 1, for every public response with a user. The limited-access fields are present for the user
 * themselves and for callers with `users.view_all`, and absent for everybody else. The routes come from the OpenAPI
 * document, so a new route with a user fails here until it is covered.
 */
import { unwrap } from '@fitness/client';
import { LIMITED_ACCESS_FIELDS, userSchema } from '@fitness/contracts/user.ts';
import type { Answer } from '@fitness/shared/testing/harness.ts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { disputedDeposit } from './ops-scene.ts';
import {
  type Account,
  administratorToken,
  api,
  clientOf,
  deposit,
  expectStatus,
  login,
  newestCode,
  operatorToken,
  PASSWORD,
  register,
  sandbox,
  sevenDigits,
} from './support.ts';

type Json = Record<string, unknown>;
interface Viewer {
  name: string;
  token: string | undefined;
  /** The user whose hidden fields this viewer sees, or all users. */
  sees: number | 'all' | 'nobody';
}

const FIELDS = Object.keys(userSchema.shape);
const PUBLIC_FIELDS = FIELDS.filter((field) => !(LIMITED_ACCESS_FIELDS as readonly string[]).includes(field));

let self: Account;
let viewers: Record<'guest' | 'member' | 'self' | 'operator', Viewer>;
let serviceId: number;
let paymentId: number;
let operatorId: number;

beforeAll(async () => {
  const inviter = await register();
  const { referral_code } = (await unwrap(clientOf(inviter.token).GET('/api/v1/auth/me'))).user;
  self = await register({ referral_code });
  const member = await register();
  const operator = await operatorToken();
  operatorId = (await unwrap(clientOf(operator).GET('/api/v1/auth/me'))).user.id;
  viewers = {
    guest: { name: 'guest', token: undefined, sees: 'nobody' },
    member: { name: 'member', token: member.token, sees: member.id },
    self: { name: 'self', token: self.token, sees: self.id },
    operator: { name: 'operator', token: operator, sees: 'all' },
  };
  const profile = {
    bank_account_number: 'IR820540102680020817909002',
    current_password: PASSWORD,
    height: 171,
    is_trainer: true,
  };
  const client = clientOf(self.token);
  await unwrap(client.PUT('/api/v1/auth/me', { body: profile }));
  await deposit(self.token, 500_000);
  serviceId = (await unwrap(client.POST('/api/v1/training-services', { body: training() }))).data.id;
  paymentId = await withdraw();
  await deposit(member.token, 100_000);
  expectStatus(await buy(member.token), 201);
});

const training = () => ({
  title: `Plan ${sevenDigits()}`,
  description: 'Twelve weeks.',
  price: 10_000,
  duration_days: 30,
});

const withdraw = async (): Promise<number> => {
  const opening = clientOf(self.token).POST('/api/v1/payments/withdrawals', { body: { amount: 1_000 } });
  return (await unwrap(opening)).payment.id;
};

const paidCallback = async (viewer: Viewer): Promise<Answer> => {
  const opened = await api('POST', '/payments/deposit', { token: self.token, body: { amount: 1_000 } });
  const trackId = new URL(expectStatus(opened, 201).body.payment_url).pathname.split('/').at(-1);
  const paid = await sandbox('POST', `/zibal/${trackId}/pay`);
  const { pathname, search } = new URL(paid.headers.get('location') ?? '');
  return api('GET', `${pathname.replace('/api/v1', '')}${search}`, { token: viewer.token });
};

/** Lets another user buy a training service of `self`. */
const buy = async (token: string | undefined): Promise<Answer> =>
  api('POST', `/training-services/${serviceId}/purchase`, { token });

const resolveDispute = async ({ token }: Viewer): Promise<Answer> => {
  const id = await disputedDeposit(self.token);
  return api('POST', `/payments/${id}/resolve`, { token, body: { outcome: 'returned', note: 'A test' } });
};

const settle = async (viewer: Viewer, how: 'pay' | 'reject' | 'claim'): Promise<Answer> =>
  api('POST', `/payments/${await withdraw()}/${how}`, { token: viewer.token });

interface Walk {
  as: (keyof typeof viewers)[];
  /** The list is usually empty. Its rows are presented like other payments. */
  mayBeEmpty?: true;
  call(viewer: Viewer): Promise<Answer>;
}

const ALL: Walk['as'] = ['guest', 'member', 'self', 'operator'];
const SIGNED_IN: Walk['as'] = ['member', 'self', 'operator'];
const get =
  (path: () => string) =>
  ({ token }: Viewer): Promise<Answer> =>
    api('GET', path(), { token });
const put =
  (path: () => string, body: Json) =>
  ({ token }: Viewer): Promise<Answer> =>
    api('PUT', path(), { token, body });

/** Every operation that returns a user, with its callers. */
const WALKS: Record<string, Walk> = {
  'POST /auth/register': {
    as: ['guest'],
    call: () =>
      api('POST', '/auth/register', {
        body: {
          username: `walk${sevenDigits()}`,
          email: `walk${sevenDigits()}@example.com`,
          phone: `+98937${sevenDigits()}`,
          password: PASSWORD,
          first_name: 'W',
          last_name: 'K',
        },
      }),
  },
  'POST /auth/login': { as: ['guest'], call: () => login(self.username) },
  'GET /auth/me': { as: SIGNED_IN, call: get(() => '/auth/me') },
  'PUT /auth/me': { as: SIGNED_IN, call: put(() => '/auth/me', { gender: 'other' }) },
  'POST /auth/phone/confirm': {
    as: ['member', 'self'],
    call: async ({ token }) => {
      const phone = `+98937${sevenDigits()}`;
      const body = { phone, current_password: PASSWORD };
      expectStatus(await api('PUT', '/auth/me', { token, body }), 200);
      return api('POST', '/auth/phone/confirm', { token, body: { code: await newestCode(phone) } });
    },
  },
  'DELETE /auth/delete-account': {
    as: SIGNED_IN,
    call: ({ token }) => api('DELETE', '/auth/delete-account', { token }),
  },
  'GET /users': { as: SIGNED_IN, call: get(() => '/users') },
  'GET /users/license-reviews': {
    as: ['operator'],
    mayBeEmpty: true,
    call: get(() => '/users/license-reviews'),
  },
  'GET /users/{id}': { as: ALL, call: get(() => `/users/${self.id}`) },
  'PUT /users/{id}': { as: ['operator'], call: put(() => `/users/${self.id}`, { height: 172 }) },
  'GET /payments': { as: SIGNED_IN, call: get(() => '/payments') },
  'GET /payments/{id}': { as: ['self', 'operator'], call: get(() => `/payments/${paymentId}`) },
  'POST /payments/deposit': {
    as: SIGNED_IN,
    call: ({ token }) => api('POST', '/payments/deposit', { token, body: { amount: 1_000 } }),
  },
  'GET /payments/deposit/callback': { as: ALL, call: paidCallback },
  'GET /payments/deposit/disputed': {
    as: ['operator'],
    mayBeEmpty: true,
    call: get(() => '/payments/deposit/disputed'),
  },
  'POST /payments/withdrawals': {
    as: ['self'],
    call: ({ token }) => api('POST', '/payments/withdrawals', { token, body: { amount: 1_000 } }),
  },
  'POST /payments/{id}/pay': { as: ['operator'], call: (viewer) => settle(viewer, 'pay') },
  'POST /payments/{id}/reject': { as: ['operator'], call: (viewer) => settle(viewer, 'reject') },
  'POST /payments/{id}/claim': { as: ['operator'], call: (viewer) => settle(viewer, 'claim') },
  'POST /payments/{id}/resolve': { as: ['operator'], call: resolveDispute },
  'GET /training-services': { as: ALL, call: get(() => '/training-services') },
  'POST /training-services': {
    as: SIGNED_IN,
    call: ({ token }) => api('POST', '/training-services', { token, body: training() }),
  },
  'GET /training-services/{id}': { as: ALL, call: get(() => `/training-services/${serviceId}`) },
  'PUT /training-services/{id}': {
    as: ['self', 'operator'],
    call: put(() => `/training-services/${serviceId}`, { duration_days: 31 }),
  },
  'POST /training-services/{id}/purchase': { as: ['member'], call: ({ token }) => buy(token) },
  'GET /trainees': { as: ['member', 'self'], call: get(() => '/trainees') },
  'POST /trainees/{id}/deliver': {
    as: ['self'],
    call: async ({ token }) => {
      const trainee = expectStatus(await buy(viewers.member.token), 201).body.data;
      return api('POST', `/trainees/${trainee.id}/deliver`, { token });
    },
  },
};

/** Whether a user is the placeholder for an erased account, which has nothing to hide. */
const isErased = ({ username }: Json): boolean => String(username).startsWith('deleted:');

/** All users in a body, at any depth. */
const usersIn = (value: unknown): Json[] => {
  if (Array.isArray(value)) return value.flatMap(usersIn);
  if (typeof value !== 'object' || value === null) return [];
  const users = Object.hasOwn(value, 'username') ? [value as Json] : [];
  return [...users, ...Object.values(value).flatMap(usersIn)];
};

/** Hidden fields outside a user. A withdrawal's meta shows the bank account to its user and to operators. */
const leaksIn = (value: unknown, viewer: Viewer): string[] => {
  if (Array.isArray(value)) return value.flatMap((each) => leaksIn(each, viewer));
  if (typeof value !== 'object' || value === null) return [];
  const { type, user_id: owner } = value as Json;
  if (type === 'withdrawal' && (viewer.sees === 'all' || viewer.sees === owner))
    return leaksIn({ ...value, type: null, meta: null }, viewer);
  const own = Object.hasOwn(value, 'username')
    ? []
    : Object.keys(value).filter((key) => (LIMITED_ACCESS_FIELDS as readonly string[]).includes(key));
  return [...own, ...Object.values(value).flatMap((each) => leaksIn(each, viewer))];
};

const schemaNamesIn = (value: unknown): string[] =>
  [...JSON.stringify(value ?? {}).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
    ([, name]) => name ?? '',
  );

/** Operations in the OpenAPI document whose response contains a user, at any depth. */
const documented = async (): Promise<string[]> => {
  const document = expectStatus(await api('GET', '/openapi.json'), 200).body;
  const reachesUser = (names: string[], seen = new Set<string>()): boolean =>
    names.some((name) => {
      if (name === 'User') return true;
      if (seen.has(name)) return false;
      seen.add(name);
      return reachesUser(schemaNamesIn(document.components.schemas[name]), seen);
    });
  return Object.entries(document.paths as Record<string, Record<string, { responses?: unknown }>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods)
        .filter(([, { responses }]) => reachesUser(schemaNamesIn(responses)))
        .map(([method]) => `${method.toUpperCase()} ${path.replace('/api/v1', '')}`),
  );
};

describe('the limited-access fields', () => {
  test('every route that returns a user is covered', async () => {
    expect((await documented()).toSorted()).toEqual(Object.keys(WALKS).toSorted());
  });

  test.each(Object.keys(WALKS))(
    '%s shows limited-access fields only to the user and to callers who may view all users',
    async (name) => {
      const walk = WALKS[name] as Walk;
      for (const who of walk.as) {
        const viewer = viewers[who];
        const answer = await walk.call(viewer);
        if (![200, 201].includes(answer.status)) throw new Error(`${who}: ${answer.status} ${answer.text}`);
        const users = usersIn(answer.body);
        if (walk.mayBeEmpty !== true) expect(users.length).toBeGreaterThan(0);
        // After registration and sign-in, the caller is the returned user.
        const becomes = name === 'POST /auth/register' || name === 'POST /auth/login';
        for (const user of users) {
          const isShown = becomes || viewer.sees === 'all' || viewer.sees === user.id;
          const whole = isShown && !isErased(user);
          expect({ name, who, id: user.id, fields: Object.keys(user).toSorted() }).toEqual({
            name,
            who,
            id: user.id,
            fields: (whole ? FIELDS : PUBLIC_FIELDS).toSorted(),
          });
        }
        expect(leaksIn(answer.body, viewer)).toEqual([]);
      }
    },
  );

  test('members see even an operator without the limited-access fields', async () => {
    const { user } = (await api('GET', `/users/${operatorId}`, { token: viewers.member.token })).body;
    expect(Object.keys(user).toSorted()).toEqual(PUBLIC_FIELDS.toSorted());
  });
});

describe('a change of a role', () => {
  test('a changed role applies to the next request of all its users, with existing tokens', async () => {
    const administrator = await administratorToken();
    const roles = expectStatus(await api('GET', '/roles', { token: administrator }), 200).body.data;
    const member = roles.find(({ name }: { name: string }) => name === 'member');
    const edit = async (permissions: string[]) =>
      expectStatus(
        await api('PUT', `/roles/${member.id}`, { token: administrator, body: { permissions } }),
        200,
      );
    const balance = async () =>
      (await api('GET', '/payments/balance', { token: viewers.member.token })).status;
    expect(await balance()).toBe(200);
    try {
      await edit(member.permissions.filter((name: string) => name !== 'payments.view_own'));
      expect(await balance()).toBe(403);
    } finally {
      await edit(member.permissions);
    }
    expect(await balance()).toBe(200);
  });
});
