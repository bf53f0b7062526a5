/**
 * The maximum cost of one request to each route in a warm process: database commands and calls to other services. The
 * authorization server (`/oauth`) is not in the list of routes, because a library serves it.
 */
import { BLOCKERS } from '@fitness/contracts/blockers.ts';
import { GUEST, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { type Answer, caller, testConfig } from '@fitness/shared/testing/harness.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { openCostMeter, type RouteCost, routesWithCosts } from '@fitness/shared/testing/request-costs.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type CodeCopies, copyCodes, createOauthUser } from './oauth-support.ts';
import { begin, codeOf, setUp } from './second-factor-support.ts';
import { SHARDS } from './shards.ts';
import { type SmsSandbox, startSmsSandbox } from './sms-sandbox.ts';
import {
  callerOf,
  type Harness,
  join,
  joinAs,
  logIn,
  mediaCopy,
  newAddress,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

const NEW_PASSWORD = 'a whole new password';
/** Callers of rows that make each request as another user. */
const MEMBER = caller(0);
const OPERATOR = caller(0);
const COUNT = 3;

let harness: Harness;
let meter: Awaited<ReturnType<typeof openCostMeter>>;
let sandbox: SmsSandbox;
let codes: CodeCopies;
let administrator: UserCaller;
/** A user with several rows in every list, but without referrals. */
let person: Person;
let referrer: Person;

const expectDone = (answer: Answer): Answer => {
  if (answer.status >= 400) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
};
const send = async (as: UserCaller, method: string, path: string, body?: unknown) =>
  expectDone(await harness.send(method, path, { as, body })).body;
const newPhone = (): string => String(registration().phone);
const newToken = async ({ caller: as }: Person): Promise<number> =>
  (await send(as, 'POST', '/auth/tokens', { name: 'ci' })).data.id;
const newGrant = async (one: Person): Promise<number> => {
  await codes.connect(one);
  return (await send(one.caller, 'GET', '/auth/grants')).data[0].id;
};
let devices = 0;
const newDevice = () => {
  devices += 1;
  return { token: `device-${devices}`, platform: 'android', locale: 'en' };
};
const withLicense = async (): Promise<Person> => {
  const trainer = await join(harness, { is_trainer: true });
  await harness.identity.call('AttachLicense', {
    user_id: trainer.id,
    media_id: trainer.id,
    filename: 'a.pdf',
  });
  return trainer;
};
const scheduled = async (): Promise<Person> => {
  const one = await join(harness);
  const [path, password] = ['/auth/delete-account', { current_password: PASSWORD }] as const;
  await send(one.caller, 'POST', path, password);
  const code = await sandbox.newestCode(one.user.phone);
  await send(one.caller, 'POST', path, { ...password, confirmation_code: code });
  return { ...one, caller: await callerOf(harness, (await logIn(harness, one.user.username)).body.token) };
};

beforeAll(async () => {
  sandbox = await startSmsSandbox();
  const { MONGODB_URI } = monitored({ MONGODB_URI: String(testConfig('identity').MONGODB_URI) });
  harness = await startHarness({ MONGODB_URI, KAVENEGAR_BASE_URL: sandbox.kavenegarUrl });
  administrator = (await joinAs(harness, 'administrator')).caller;
  codes = await copyCodes(harness, await createOauthUser(harness));
  person = await join(harness);
  referrer = await join(harness);
  for (let index = 0; index < COUNT; index += 1) {
    const { id } = await join(harness, { referral_code: referrer.user.referral_code });
    await harness.saveMedia(mediaCopy(id, [{ id, filename: 'a.png' }], 1));
    await newToken(person);
    await logIn(harness, person.user.username);
    // Each change creates a notification.
    await send(person.caller, 'PUT', '/auth/me', { email: registration().email, current_password: PASSWORD });
    await send(person.caller, 'POST', '/notifications/devices', newDevice());
    const reviewed = await withLicense();
    await send(administrator, 'PUT', `/users/${reviewed.id}`, { trainer_license_approved: true });
    await send(reviewed.caller, 'PUT', '/auth/me', { first_name: 'Renamed' });
    await withLicense();
  }
  harness.standIns.blockers = [{ userId: person.id, code: 'gym_ownership', extras: { count: 1 } }];
  meter = await openCostMeter(harness.config.MONGODB_DATABASE, harness, SHARDS);
});
afterAll(async () => {
  await harness.close();
  await sandbox.close();
});

/** Requests of the same user. */
const by = (who: () => Person) => () => ({ as: who().caller });
const byPerson = by(() => person);
const byAdministrator = (path?: string, body?: unknown) => () => ({
  as: administrator,
  body,
  ...(path === undefined ? {} : { path }),
});
/** Requests of a new user each time. */
const byNew = (body?: unknown) => async () => ({ as: (await join(harness)).caller, body });
const bySomebodyNew =
  (prepare: (one: Person) => Promise<object>, join_ = () => join(harness)) =>
  async () => {
    const one = await join_();
    return { as: one.caller, ...(await prepare(one)) };
  };
const onNew =
  (suffix = '', body?: unknown, join_ = () => join(harness)) =>
  async () => ({
    as: administrator,
    path: `/users/${(await join_()).id}${suffix}`,
    body,
  });
const notificationOf = async (): Promise<Person & { notification: number }> => {
  const one = await withLicense();
  await send(administrator, 'PUT', `/users/${one.id}`, { trainer_license_approved: true });
  const { data } = await send(one.caller, 'GET', '/notifications');
  return { ...one, notification: data[0].id };
};

const CALLS_TO_EVERY_SERVICE = ['Count', 'List'].flatMap((method) => Array.from({ length: 5 }, () => method));
const EVALUATIONS = BLOCKERS.map(() => 'Evaluate');

const ROWS: RouteCost[] = [
  {
    route: 'POST /auth/register',
    as: GUEST,
    commands: 15,
    calls: ['GetSubscriptions'],
    request: () => ({ body: registration(), headers: newAddress() }),
  },
  {
    route: 'POST /auth/login',
    as: GUEST,
    commands: [
      'commitTransaction',
      'find login_keys',
      'find roles',
      'find second_factors',
      'find users',
      'findAndModify sequences',
      'insert tokens',
      'update login_keys',
    ],
    calls: ['GetSubscriptions'],
    request: () => ({ body: { login: person.user.username, password: PASSWORD }, headers: newAddress() }),
  },
  {
    route: 'POST /auth/login (with a second factor)',
    as: GUEST,
    commands: 11,
    calls: ['GetSubscriptions'],
    request: async () => {
      const one = await join(harness);
      const { secret } = await setUp(harness, one);
      const body = { login: one.user.username, password: PASSWORD, totp: codeOf(harness, secret) };
      return { body, headers: newAddress() };
    },
  },
  { route: 'POST /auth/logout', as: MEMBER, commands: 3, request: byNew() },
  {
    route: 'GET /auth/me',
    as: MEMBER,
    commands: ['find roles', 'find users'],
    calls: ['GetSubscriptions'],
    request: byPerson,
  },
  {
    route: 'GET /auth/me (with referrals)',
    as: MEMBER,
    commands: ['aggregate users', 'find referral_scores', 'find roles', 'find users'],
    calls: ['GetSubscriptions'],
    request: by(() => referrer),
  },
  {
    route: 'PUT /auth/me',
    as: MEMBER,
    commands: 8,
    calls: ['GetSubscriptions'],
    request: byNew({ first_name: 'Forugh' }),
  },
  {
    route: 'PUT /auth/me (a new email)',
    as: MEMBER,
    commands: 15,
    calls: ['GetSubscriptions'],
    request: () => byNew({ email: registration().email, current_password: PASSWORD })(),
  },
  {
    route: 'PUT /auth/me (a new phone)',
    as: MEMBER,
    commands: 13,
    calls: ['GetSubscriptions'],
    request: () => byNew({ phone: newPhone(), current_password: PASSWORD })(),
  },
  {
    route: 'POST /auth/phone/confirm',
    as: MEMBER,
    commands: 19,
    calls: ['GetSubscriptions'],
    request: bySomebodyNew(async ({ caller: as }) => {
      const phone = newPhone();
      await send(as, 'PUT', '/auth/me', { phone, current_password: PASSWORD });
      return { body: { code: await sandbox.newestCode(phone) } };
    }),
  },
  {
    route: 'PUT /auth/change-password',
    as: MEMBER,
    commands: 14,
    request: byNew({
      current_password: PASSWORD,
      password: NEW_PASSWORD,
      password_confirmation: NEW_PASSWORD,
    }),
  },
  {
    route: 'POST /auth/forgot-password',
    as: GUEST,
    commands: 9,
    request: async () => ({ body: { login: (await join(harness)).user.email }, headers: newAddress() }),
  },
  {
    route: 'POST /auth/forgot-password (own account)',
    as: MEMBER,
    commands: [
      'commitTransaction',
      'find rate_limits',
      'find users',
      'findAndModify confirmation_codes',
      'findAndModify rate_limits',
      'insert rate_limits',
    ],
    request: bySomebodyNew(async ({ user }) => ({ body: { login: user.email } })),
  },
  {
    route: 'POST /auth/forgot-password (nobody)',
    as: GUEST,
    commands: 2,
    request: () => ({ body: { login: registration().email }, headers: newAddress() }),
  },
  {
    route: 'POST /auth/reset-password',
    as: GUEST,
    commands: 20,
    request: async () => {
      const { user, caller: as } = await join(harness);
      await send(as, 'PUT', '/auth/me', { phone: user.phone, current_password: PASSWORD });
      await send(as, 'POST', '/auth/phone/confirm', { code: await sandbox.newestCode(user.phone) });
      const options = { body: { login: user.email }, headers: newAddress() };
      expectDone(await harness.send('POST', '/auth/forgot-password', options));
      const [sms] = await sandbox.waitFor(user.phone, 2);
      return { body: { login: user.email, code: sms?.code, password: NEW_PASSWORD }, headers: newAddress() };
    },
  },
  {
    route: 'POST /auth/reset-password (a phone that was not proven)',
    as: GUEST,
    commands: 25,
    request: async () => {
      const { user } = await join(harness);
      const options = { body: { login: user.email }, headers: newAddress() };
      expectDone(await harness.send('POST', '/auth/forgot-password', options));
      const [sms] = await sandbox.waitFor(user.phone, 1);
      return { body: { login: user.email, code: sms?.code, password: NEW_PASSWORD }, headers: newAddress() };
    },
  },
  {
    route: 'POST /auth/delete-account (phase 1, blocked)',
    as: MEMBER,
    status: 409,
    commands: ['find users'],
    calls: EVALUATIONS,
    request: bySomebodyNew(async ({ id }) => {
      harness.standIns.blockers.push({ userId: id, code: 'gym_ownership', extras: { count: 1 } });
      return { body: { current_password: PASSWORD } };
    }),
  },
  {
    route: 'POST /auth/delete-account (phase 1)',
    as: MEMBER,
    commands: 6,
    calls: EVALUATIONS,
    request: byNew({ current_password: PASSWORD }),
  },
  {
    route: 'POST /auth/delete-account (phase 1, again)',
    as: MEMBER,
    commands: [
      'commitTransaction',
      'find users',
      'findAndModify confirmation_codes',
      'findAndModify rate_limits',
    ],
    calls: EVALUATIONS,
    request: bySomebodyNew(async ({ caller: as }) => {
      const body = { current_password: PASSWORD };
      await send(as, 'POST', '/auth/delete-account', body);
      return { body };
    }),
  },
  {
    route: 'POST /auth/delete-account (phase 2)',
    as: MEMBER,
    commands: 17,
    calls: EVALUATIONS,
    request: bySomebodyNew(async ({ caller: as, user }) => {
      const body = { current_password: PASSWORD };
      await send(as, 'POST', '/auth/delete-account', body);
      return { body: { ...body, confirmation_code: await sandbox.newestCode(user.phone) } };
    }),
  },
  {
    route: 'DELETE /auth/delete-account',
    as: MEMBER,
    commands: 5,
    calls: ['GetSubscriptions'],
    request: bySomebodyNew(async () => ({}), scheduled),
  },
  { route: 'GET /auth/tokens', as: MEMBER, commands: 2, request: byPerson },
  { route: 'POST /auth/tokens', as: MEMBER, commands: 10, request: byNew({ name: 'ci' }) },
  {
    route: 'DELETE /auth/tokens/:id',
    as: MEMBER,
    commands: 4,
    request: async () => ({ as: person.caller, path: `/auth/tokens/${await newToken(person)}` }),
  },
  { route: 'GET /auth/grants', as: MEMBER, commands: 2, request: byPerson },
  {
    route: 'DELETE /auth/grants/:id',
    as: MEMBER,
    commands: 7,
    request: async () => ({ as: person.caller, path: `/auth/grants/${await newGrant(person)}` }),
  },
  { route: 'GET /auth/sessions', as: MEMBER, commands: 3, request: byPerson },
  {
    route: 'DELETE /auth/sessions/:id',
    as: MEMBER,
    commands: 4,
    request: bySomebodyNew(async ({ caller: as, user }) => {
      await logIn(harness, user.username);
      const { data } = await send(as, 'GET', '/auth/sessions');
      const other = data.find(({ current }: { current: boolean }) => !current);
      return { path: `/auth/sessions/${other.id}` };
    }),
  },
  {
    route: 'POST /auth/second-factor (the secret)',
    as: MEMBER,
    commands: 7,
    request: byNew({ current_password: PASSWORD }),
  },
  {
    route: 'POST /auth/second-factor (its first code)',
    as: MEMBER,
    commands: 20,
    request: bySomebodyNew(async (one) => {
      const { secret } = (await begin(harness, one)).body;
      return { body: { totp: codeOf(harness, secret) } };
    }),
  },
  {
    route: 'DELETE /auth/second-factor',
    as: MEMBER,
    commands: 13,
    request: bySomebodyNew(async (one) => {
      const { secret } = await setUp(harness, one);
      return { body: { current_password: PASSWORD, totp: codeOf(harness, secret) } };
    }),
  },
  { route: 'GET /users', as: OPERATOR, commands: 5, request: byAdministrator() },
  {
    route: 'GET /users (of a member)',
    as: MEMBER,
    commands: 3,
    request: byPerson,
  },
  {
    route: 'GET /users?search=person&page=2&per_page=2',
    as: OPERATOR,
    commands: 5,
    request: byAdministrator(),
  },
  {
    route: 'GET /users/license-reviews',
    as: OPERATOR,
    commands: 5,
    request: byAdministrator(),
  },
  {
    route: 'GET /users/:id',
    as: GUEST,
    commands: 1,
    calls: ['GetSubscriptions'],
    request: () => ({ path: `/users/${person.id}` }),
  },
  {
    route: 'GET /users/:id',
    as: MEMBER,
    commands: 1,
    calls: ['GetSubscriptions'],
    request: () => ({ ...byPerson(), path: `/users/${referrer.id}` }),
  },
  {
    route: 'GET /users/:id (of an operator)',
    as: OPERATOR,
    commands: 4,
    calls: ['GetSubscriptions'],
    request: () => byAdministrator(`/users/${referrer.id}`)(),
  },
  {
    route: 'PUT /users/:id',
    as: OPERATOR,
    commands: 14,
    calls: ['GetSubscriptions'],
    request: onNew('', { first_name: 'Forugh' }),
  },
  {
    route: 'PUT /users/:id (a review)',
    as: OPERATOR,
    commands: 13,
    calls: ['GetSubscriptions'],
    request: onNew('', { trainer_license_approved: true }, withLicense),
  },
  {
    route: 'PUT /users/:id (roles)',
    as: OPERATOR,
    commands: 20,
    calls: ['GetSubscriptions'],
    request: onNew('', { role_ids: [1, 2] }),
  },
  { route: 'DELETE /users/:id', as: OPERATOR, commands: 24, calls: EVALUATIONS, request: onNew() },
  {
    route: 'DELETE /users/:id/second-factor',
    as: OPERATOR,
    commands: 18,
    request: onNew('/second-factor', undefined, async () => {
      const one = await join(harness);
      await setUp(harness, one);
      return one;
    }),
  },
  {
    route: 'GET /users/:id/sessions',
    as: OPERATOR,
    commands: 4,
    request: () => byAdministrator(`/users/${person.id}/sessions`)(),
  },
  {
    route: 'DELETE /users/:id/sessions/:session_id',
    as: OPERATOR,
    commands: 8,
    request: async () => {
      const { id } = await join(harness);
      const { data } = await send(administrator, 'GET', `/users/${id}/sessions`);
      return byAdministrator(`/users/${id}/sessions/${data[0].id}`)();
    },
  },
  {
    route: 'GET /users/:id/deletion-blockers',
    as: OPERATOR,
    commands: ['find roles', 'find users'],
    calls: EVALUATIONS,
    request: () => byAdministrator(`/users/${person.id}/deletion-blockers`)(),
  },
  {
    route: 'GET /users/names',
    as: OPERATOR,
    commands: ['find users'],
    request: () => byAdministrator(`/users/names?ids=${person.id},${referrer.id}`)(),
  },
  { route: 'GET /roles', as: OPERATOR, commands: 1, request: byAdministrator() },
  {
    route: 'PUT /roles/:id',
    as: OPERATOR,
    commands: 5,
    request: () => byAdministrator('/roles/2', { title: `Operator ${newPhone()}` })(),
  },
  {
    route: 'GET /audit-log',
    as: OPERATOR,
    commands: 3,
    calls: CALLS_TO_EVERY_SERVICE,
    request: byAdministrator(),
  },
  {
    route: 'GET /notifications',
    as: MEMBER,
    commands: 3,
    request: by(() => person),
  },
  {
    route: 'POST /notifications/:id/read',
    as: MEMBER,
    commands: 2,
    request: async () => {
      const { caller: as, notification } = await notificationOf();
      return { as, path: `/notifications/${notification}/read` };
    },
  },
  { route: 'GET /notifications/preferences', as: MEMBER, commands: 1, request: byPerson },
  { route: 'PUT /notifications/preferences', as: MEMBER, commands: 4, request: byNew({ locale: 'fa' }) },
  {
    route: 'POST /notifications/devices',
    as: MEMBER,
    commands: 9,
    request: () => byNew(newDevice())(),
  },
  {
    route: 'DELETE /notifications/devices/:id',
    as: MEMBER,
    commands: 1,
    request: bySomebodyNew(async ({ caller: as }) => {
      const { data } = await send(as, 'POST', '/notifications/devices', newDevice());
      return { path: `/notifications/devices/${data.id}` };
    }),
  },
  // Last, because a list with new referrers computes their scores.
  {
    route: 'POST /auth/register (with a referral code)',
    as: GUEST,
    commands: 17,
    calls: ['GetSubscriptions'],
    request: async () => ({
      body: registration({ referral_code: (await join(harness)).user.referral_code }),
      headers: newAddress(),
    }),
  },
];

test('every route has a row of costs', async () => {
  expectByRecipe('endpoint', routesWithCosts(ROWS), await meter.routes());
});

test.each(ROWS)('$route as $as.kind costs $commands commands', async (row) => {
  expect(await meter.faults(row)).toEqual([]);
});

test('no request continues after its response', () => {
  expect(meter.late()).toEqual([]);
});

test('no command queries every shard unless it is listed', () => {
  expectByRecipe('list-filter', meter.shardFaults());
});
