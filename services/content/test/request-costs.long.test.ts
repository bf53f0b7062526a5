/** The maximum cost of a request to each route in a warm process: database commands, and calls to other services. */
import { randomUUID } from 'node:crypto';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { MEMBER_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { openCostMeter, type RouteCost, routesWithCosts } from '@fitness/shared/testing/request-costs.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHARDS } from './shards.ts';
import { type Harness, mediaCopy, openHarness } from './support.ts';

const USER = 'App\\Models\\User';
const GYM = 'App\\Models\\Gym';
const POST = 'App\\Models\\Posts\\Post';
const member = caller(7);
const buyer = caller(8);
const operator = caller(900, [
  ...MEMBER_PERMISSIONS,
  'posts.view_all',
  'posts.update_any',
  'training_services.update_any',
]);
/** More rows than a page of the lists below. */
const ROWS_OF_LISTS = 12;

let harness: Harness;
let meter: Awaited<ReturnType<typeof openCostMeter>>;

const post = (title: string) => ({ profile_type: USER, profile_id: 7, title, content: 'C' });
const service = (title: string) => ({ title, description: '', price: 10, duration_days: 1 });
const create = async (path: string, body: unknown, as = member): Promise<number> => {
  const { status, body: answer, text } = await harness.send('POST', path, { as, body });
  if (status !== 201) throw new Error(text);
  return answer.data.id;
};
const purchase = (id: number) => create(`/training-services/${id}/purchase`, {}, buyer);

beforeAll(async () => {
  harness = await openHarness({ watched: true, listCacheMib: LIST_CACHE_MIB });
  harness.standIns.gyms.set(1, { user_id: 7, is_active: true });
  for (let index = 0; index < ROWS_OF_LISTS; index += 1) {
    const id = await create('/posts', post(`Title ${index}`));
    await harness.saveMedia(mediaCopy(POST, id, ['a.png', 'b.png']));
    await purchase(await create('/training-services', service(`Title ${index}`)));
  }
  const target = { send: harness.send, url: harness.content.url };
  meter = await openCostMeter(harness.config.MONGODB_DATABASE, target, SHARDS);
});
afterAll(() => harness.close());

let changes = 0;
const nextTitle = (): string => {
  changes += 1;
  return `Other ${changes}`;
};
const newPost = async () => ({ path: `/posts/${await create('/posts', post('New'))}` });
const newService = async (suffix = '', body?: unknown) => ({
  path: `/training-services/${await create('/training-services', service('New'))}${suffix}`,
  body,
});
const newTrainee = async () => {
  const id = await purchase(await create('/training-services', service('New')));
  return { path: `/trainees/${id}/deliver` };
};

const ROWS: RouteCost[] = [
  { route: 'GET /posts', as: GUEST, commands: 1 },
  { route: 'GET /posts', as: member, commands: 1 },
  { route: 'GET /posts', as: operator, commands: 1 },
  { route: 'GET /posts?page=2&per_page=5', as: GUEST, commands: 1 },
  // The posts that only the member sees are in memory, too.
  { route: 'GET /posts?page=2&per_page=5', as: member, commands: 1 },
  { route: 'GET /posts?search=title', as: GUEST, commands: 1 },
  { route: `GET /posts?type=${encodeURIComponent(USER)}&item_id=7`, as: GUEST, commands: 2 },
  { route: 'GET /posts/:id', as: GUEST, commands: 1, request: () => ({ path: '/posts/1' }) },
  { route: 'GET /posts/:id', as: member, commands: 1, request: () => ({ path: '/posts/1' }) },
  { route: 'POST /posts (of a user)', as: member, commands: 7, request: () => ({ body: post('New') }) },
  {
    route: 'POST /posts (of a gym)',
    as: member,
    commands: 7,
    calls: ['GetGyms'],
    request: () => ({ body: { ...post('New'), profile_type: GYM, profile_id: 1 } }),
  },
  {
    route: 'PUT /posts/:id',
    as: member,
    commands: 8,
    request: () => ({ path: '/posts/1', body: { title: nextTitle() } }),
  },
  {
    route: 'PUT /posts/:id (by an operator)',
    as: operator,
    commands: 11,
    request: () => ({ path: '/posts/1', body: { title: nextTitle() } }),
  },
  { route: 'DELETE /posts/:id', as: member, commands: 8, request: newPost },
  { route: 'DELETE /posts/:id (by an operator)', as: operator, commands: 11, request: newPost },
  { route: 'GET /training-services', as: GUEST, commands: 1, calls: ['ShowUsers'] },
  { route: 'GET /training-services', as: member, commands: 1, calls: ['ShowUsers'] },
  { route: 'GET /training-services?page=2&per_page=5', as: GUEST, commands: 1, calls: ['ShowUsers'] },
  { route: 'GET /training-services?search=title', as: GUEST, commands: 1, calls: ['ShowUsers'] },
  { route: 'GET /training-services?user_id=7', as: GUEST, commands: 1, calls: ['ShowUsers'] },
  {
    route: 'GET /training-services/:id',
    as: GUEST,
    commands: 1,
    calls: ['GetBoosts', 'GetHiddenUsers', 'ShowUsers'],
    request: () => ({ path: '/training-services/1' }),
  },
  {
    route: 'GET /training-services/:id',
    as: member,
    commands: 1,
    calls: ['GetBoosts', 'ShowUsers'],
    request: () => ({ path: '/training-services/1' }),
  },
  {
    route: 'POST /training-services',
    as: member,
    commands: 9,
    calls: ['ShowUsers'],
    request: () => ({ body: service('New') }),
  },
  {
    route: 'PUT /training-services/:id',
    as: member,
    commands: 9,
    calls: ['GetBoosts', 'ShowUsers'],
    request: () => ({ path: '/training-services/1', body: { title: nextTitle() } }),
  },
  { route: 'DELETE /training-services/:id', as: member, commands: 8, request: () => newService() },
  {
    route: 'POST /training-services/:id/purchase',
    as: buyer,
    commands: 11,
    calls: ['Book', 'GetHiddenUsers', 'GetRates', 'ShowUsers'],
    request: () => newService('/purchase', {}),
  },
  {
    route: 'POST /training-services/:id/purchase (with a key)',
    as: buyer,
    commands: 15,
    calls: ['Book', 'GetHiddenUsers', 'GetRates', 'ShowUsers'],
    request: async () => ({
      ...(await newService('/purchase', {})),
      headers: { 'idempotency-key': randomUUID() },
    }),
  },
  { route: 'GET /trainees', as: buyer, commands: 4, calls: ['ShowUsers'] },
  { route: 'GET /trainees?role=seller&page=2&per_page=5', as: member, commands: 2, calls: ['ShowUsers'] },
  { route: 'POST /trainees/:id/deliver', as: member, commands: 5, calls: ['ShowUsers'], request: newTrainee },
];

test('every route has a row with its cost', async () => {
  expectByRecipe('endpoint', routesWithCosts(ROWS), await meter.routes());
});

test.each(ROWS)('$route as $as.kind costs $commands commands', async (row) => {
  expect(await meter.faults(row)).toEqual([]);
});

test('no request continues after its response', () => {
  expect(meter.late()).toEqual([]);
});

test('every command that is sent to all shards is listed', () => {
  expectByRecipe('list-filter', meter.shardFaults());
});
