import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { type CommandWatch, watchCommands } from '@fitness/shared/testing/commands.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, mediaCopy, openHarness } from './support.ts';

/** How many database commands and calls the reads take that a client makes most often: at most these. */

const USER = 'App\\Models\\User';
const POST = 'App\\Models\\Posts\\Post';
const member = caller(7);
const POSTS = 12;

let harness: Harness;
let watch: CommandWatch;
beforeAll(async () => {
  harness = await openHarness({ watched: true });
  for (let index = 0; index < POSTS; index += 1) {
    const body = { profile_type: USER, profile_id: 7, title: `Title ${index}`, content: 'C' };
    const written = await harness.send('POST', '/posts', { as: member, body });
    await harness.saveMedia(mediaCopy(POST, written.body.data.id, ['a.png', 'b.png']));
    const sold = { title: `Title ${index}`, description: '', price: 10, duration_days: 1 };
    await harness.send('POST', '/training-services', { as: member, body: sold });
  }
  watch = watchCommands(harness.config.MONGODB_DATABASE);
});
afterAll(() => harness.close());

/** Sent by the process itself, whatever is read. */
const OWN_WORK = ['outbox', 'relay_leases', 'trainees'];

test.each([
  { path: '/posts', as: GUEST, commands: 1, calls: [] },
  { path: '/posts', as: member, commands: 1, calls: [] },
  { path: '/posts?page=2&per_page=5', as: GUEST, commands: 1, calls: [] },
  { path: '/posts?page=2&per_page=5', as: member, commands: 1, calls: [] },
  { path: '/posts?search=title', as: GUEST, commands: 1, calls: [] },
  { path: '/posts/1', as: GUEST, commands: 1, calls: [] },
  { path: '/training-services', as: GUEST, commands: 1, calls: ['GetHiddenUsers', 'ShowUsers'] },
  { path: '/training-services', as: member, commands: 1, calls: ['GetHiddenUsers', 'ShowUsers'] },
  { path: '/training-services?search=title', as: GUEST, commands: 1, calls: ['GetHiddenUsers', 'ShowUsers'] },
  {
    path: '/training-services/1',
    as: GUEST,
    commands: 1,
    calls: ['GetBoosts', 'GetHiddenUsers', 'ShowUsers'],
  },
])('GET $path as $as.kind: $commands commands', async ({ path, as, commands, calls }) => {
  // The first one reads what the process keeps.
  expect((await harness.send('GET', path, { as })).status).toBe(200);
  harness.standIns.calls.length = 0;
  const sent = await watch.during(() => harness.send('GET', path, { as }));
  const own = sent.filter(({ collection }) => !OWN_WORK.includes(collection));
  expect(own.map(({ name, collection }) => `${name} ${collection}`)).toHaveLength(commands);
  expect(harness.standIns.calls.toSorted()).toEqual(calls);
});
