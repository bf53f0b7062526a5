/** The maximum cost of one request of each route in a warm process: database commands, and calls of other services. */

import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { openCostMeter, type RouteCost, routesWithCosts } from '@fitness/shared/testing/request-costs.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHARDS } from './shards.ts';
import { GYM, type Harness, OWNER, openHarness, PNG, POST, pdf, userTarget, VIEWER } from './support.ts';

let harness: Harness;
let meter: Awaited<ReturnType<typeof openCostMeter>>;
/** A public file of a target with several files. */
let file: number;
let license: number;

const newFile = async (target: Record<string, string | number>): Promise<number> => {
  const { status, body } = await harness.upload(OWNER, target);
  if (status !== 201) throw new Error(`no file: ${status}`);
  return body.data.id;
};

beforeAll(async () => {
  harness = await openHarness({}, {}, { monitored: true });
  for (let index = 0; index < 3; index += 1) file = await newFile(GYM);
  license = await newFile({ ...GYM, purpose: 'gym_license' });
  meter = await openCostMeter(harness.config.MONGODB_DATABASE, harness, SHARDS);
});
afterAll(() => harness.close());

const form = (target: Record<string, string | number>, content = PNG, name = 'a.png') => {
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array(content)]), name);
  for (const [field, value] of Object.entries(target)) body.set(field, String(value));
  return { body };
};
const of =
  (id: () => number | Promise<number>, suffix = '') =>
  async () => ({
    path: `/media/${await id()}${suffix}`,
  });
const oneOfTwo = async (): Promise<number> => {
  const target = harness.newGym();
  await newFile(target);
  return newFile(target);
};

const ROWS: RouteCost[] = [
  {
    route: 'POST /media (of a gym)',
    as: OWNER,
    commands: 14,
    calls: ['GetGyms', 'Save'],
    request: () => form(harness.newGym()),
  },
  {
    route: 'POST /media (of a post)',
    as: OWNER,
    commands: 13,
    calls: ['GetPosts', 'Save'],
    request: () => form(POST),
  },
  {
    route: 'POST /media (of a user)',
    as: OWNER,
    commands: 11,
    calls: ['GetUsers', 'Save'],
    request: () => form(userTarget(7)),
  },
  {
    route: 'POST /media (a license that replaces one)',
    as: OWNER,
    commands: 11,
    calls: ['AttachLicense', 'GetGyms'],
    request: async () => {
      const target = { ...harness.newGym(), purpose: 'gym_license' };
      await newFile(target);
      return form(target, pdf(100), 'a.pdf');
    },
  },
  { route: 'GET /media/:id', as: GUEST, commands: 1, calls: ['GetGyms'], request: of(() => file) },
  { route: 'GET /media/:id', as: OWNER, commands: 1, calls: ['GetGyms'], request: of(() => file) },
  {
    route: 'GET /media/:id (smaller)',
    as: GUEST,
    commands: 1,
    calls: ['GetGyms'],
    request: of(() => file, '?width=320'),
  },
  {
    route: 'GET /media/:id (two ranges)',
    as: GUEST,
    commands: 1,
    calls: ['GetGyms'],
    request: () => ({ path: `/media/${file}`, headers: { range: 'bytes=0-1,4-5' } }),
  },
  {
    route: 'GET /media/:id (the caller’s document)',
    as: OWNER,
    commands: 1,
    calls: ['GetGyms'],
    request: of(() => license),
  },
  {
    route: 'GET /media/:id (a document of another)',
    as: VIEWER,
    commands: 5,
    calls: ['GetGyms'],
    request: of(() => license),
  },
  {
    route: 'GET /media/:id/:filename',
    as: GUEST,
    commands: 1,
    calls: ['GetGyms'],
    request: of(() => file, '/a.png'),
  },
  {
    route: 'DELETE /media/:id (the only file)',
    as: OWNER,
    commands: 9,
    calls: ['GetGyms', 'Save'],
    request: of(() => newFile(harness.newGym())),
  },
  {
    route: 'DELETE /media/:id (one of two)',
    as: OWNER,
    commands: 9,
    calls: ['GetGyms', 'Save'],
    request: of(oneOfTwo),
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

test('no command asks every shard without being listed', () => {
  expectByRecipe('list-filter', meter.shardFaults());
});
