/** The maximum cost of one request of each route in a warm process: database commands, and calls of other services. */

import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { openCostMeter, type RouteCost, routesWithCosts } from '@fitness/shared/testing/request-costs.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHARDS } from './shards.ts';
import { type Harness, member, openHarness, operator } from './support.ts';

const owner = member(7);
/** More gyms than a page of the lists below. */
const GYMS = 5;

let harness: Harness;
let meter: Awaited<ReturnType<typeof openCostMeter>>;
beforeAll(async () => {
  harness = await openHarness({ watched: true, listCacheMib: LIST_CACHE_MIB });
  for (let index = 0; index < GYMS; index += 1) {
    const id = await harness.createGym(owner, { city_id: 1, major_ids: '1,2' });
    await harness.gyms.call('AttachLicense', { gym_id: id, media_id: id, filename: 'a.pdf' });
  }
  // This gym was renamed after its review.
  for (const body of [{ gym_license_approved: true }, { name: 'Renamed Gym' }])
    await harness.send('PUT', `/gyms/${GYMS}`, { as: operator(), body });
  meter = await openCostMeter(harness.config.MONGODB_DATABASE, harness, SHARDS);
});
afterAll(() => harness.close());

const newGym =
  (suffix = '', body: Record<string, unknown> = {}) =>
  async () => ({
    path: `/gyms/${await harness.createGym(owner, { city_id: 1, major_ids: '1,2' })}${suffix}`,
    body,
  });
const gym =
  (suffix = '', body?: unknown) =>
  () => ({ path: `/gyms/1${suffix}`, body });
let changes = 0;
const nextChange = () => {
  changes += 1;
  return changes;
};
const week = (start: string) => [1, 2].map((weekday) => ({ weekday, opens_at: start, closes_at: '20:00' }));

const ROWS: RouteCost[] = [
  { route: 'GET /gyms', as: GUEST, commands: 1 },
  { route: 'GET /gyms', as: owner, commands: 1 },
  { route: 'GET /gyms', as: operator(), commands: 1 },
  { route: 'GET /gyms?page=2&per_page=2', as: GUEST, commands: 1 },
  { route: 'GET /gyms?search=gym', as: GUEST, commands: 1 },
  { route: 'GET /gyms?city_id=1', as: GUEST, commands: 2 },
  { route: 'GET /gyms?major_ids=1,2', as: GUEST, commands: 2 },
  { route: 'GET /gyms?near=35.7,51.4', as: GUEST, commands: 47 },
  { route: 'GET /gyms?near=35.7,51.4&per_page=2', as: GUEST, commands: 11 },
  { route: 'GET /gyms/license-reviews', as: operator(), commands: 4 },
  { route: 'GET /gyms/license-reviews?gym_id=5', as: operator(), commands: 1 },
  { route: 'GET /gyms/:id', as: GUEST, commands: 1, calls: ['GetBoosts'], request: gym() },
  { route: 'GET /gyms/:id', as: owner, commands: 1, calls: ['GetBoosts'], request: gym() },
  {
    route: 'POST /gyms',
    as: owner,
    commands: 9,
    calls: ['GetBoosts'],
    request: () => ({
      body: { name: 'Gym', address: 'Street 1', location_lat: 35.7, location_lng: 51.4, major_ids: '1,2' },
    }),
  },
  {
    route: 'PUT /gyms/:id',
    as: owner,
    commands: 9,
    calls: ['GetBoosts'],
    request: () => gym('', { name: `Gym ${nextChange()}` })(),
  },
  {
    route: 'PUT /gyms/:id (a review)',
    as: operator(),
    commands: 9,
    calls: ['GetBoosts'],
    request: () => gym('', { gym_license_approved: nextChange() % 2 === 0 })(),
  },
  {
    route: 'PUT /gyms/:id (operator)',
    as: operator(),
    commands: 11,
    calls: ['GetBoosts'],
    request: () => gym('', { name: `Gym ${nextChange()}` })(),
  },
  { route: 'DELETE /gyms/:id', as: owner, commands: 8, request: newGym() },
  {
    route: 'PUT /gyms/:id/working-periods',
    as: owner,
    commands: 4,
    calls: ['GetBoosts'],
    request: () => gym('/working-periods', { working_periods: week(`0${nextChange() % 8}:00`) })(),
  },
  {
    route: 'PUT /gyms/:id/rating (changed)',
    as: member(8),
    commands: 7,
    calls: ['GetBoosts'],
    request: () => gym('/rating', { score: 1 + (nextChange() % 5) })(),
  },
  {
    route: 'PUT /gyms/:id/rating (first)',
    as: member(8),
    commands: 7,
    calls: ['GetBoosts'],
    request: newGym('/rating', { score: 4 }),
  },
  {
    route: 'PUT /gyms/:id/crowd',
    as: owner,
    commands: 4,
    calls: ['GetBoosts'],
    request: () => gym('/crowd', { current: nextChange(), capacity: 1_000 })(),
  },
  { route: 'GET /cities', as: GUEST, commands: 0 },
  { route: 'GET /majors', as: GUEST, commands: 0 },
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

test('no command asks every shard without being listed', () => {
  expectByRecipe('list-filter', meter.shardFaults());
});
