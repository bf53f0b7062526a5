import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { type CommandWatch, watchCommands } from '@fitness/shared/testing/commands.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, member, openHarness } from './support.ts';

/** How many database commands and calls the reads take that a client makes most often. */

let harness: Harness;
let watch: CommandWatch;
beforeAll(async () => {
  harness = await openHarness({ watched: true });
  for (let index = 0; index < 5; index += 1)
    await harness.createGym(member(7), { city_id: 1, major_ids: '1,2' });
  watch = watchCommands(harness.config.MONGODB_DATABASE);
});
afterAll(() => harness.close());

const LISTS = ['gyms', 'gym_counters', 'cities', 'states', 'majors'];

test.each([
  { path: '/gyms', as: GUEST, commands: 1, calls: [] },
  { path: '/gyms', as: member(7), commands: 1, calls: [] },
  { path: '/gyms?page=2&per_page=2', as: GUEST, commands: 1, calls: [] },
  { path: '/gyms?search=gym', as: GUEST, commands: 1, calls: [] },
  { path: '/gyms/1', as: GUEST, commands: 1, calls: ['GetBoosts'] },
  { path: '/cities', as: GUEST, commands: 0, calls: [] },
])('GET $path as $as.kind: $commands commands', async ({ path, as, commands, calls }) => {
  // The first one reads what the process keeps.
  expect((await harness.send('GET', path, { as })).status).toBe(200);
  harness.standIns.calls.length = 0;
  const sent = await watch.during(() => harness.send('GET', path, { as }));
  const own = sent.filter(({ collection }) => LISTS.includes(collection));
  expect(own.map(({ name, collection }) => `${name} ${collection}`).length).toBeLessThanOrEqual(commands);
  expect(harness.standIns.calls.map(({ method }) => method)).toEqual(calls);
});
