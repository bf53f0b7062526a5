/** The posts of a gym change in steps: every page of every list, and a process that is killed meanwhile. */
import { fileURLToPath } from 'node:url';
import { gymChanged } from '@fitness/proto/events/gyms.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { apiClient, caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startContent } from '../src/service.ts';
import type { ProfileDocument } from '../src/store/models/posts.ts';
import { testMovingProfiles } from './moving-profiles-cases.ts';
import { fillPosts, type Harness, openHarness } from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const GYM = 'App\\Models\\Gym';
const OWNER = caller(2);
/** Enough posts for eight steps. */
const MANY = 3_000;

testMovingProfiles({ listCacheMib: LIST_CACHE_MIB, isWhole: true });
describe('without a cache of lists', () => testMovingProfiles({ listCacheMib: 0, isWhole: false }));

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

test.each([
  ['closed', false, 0, MANY + 1],
  ['opened', true, MANY + 1, MANY + 1],
])(
  'posts of a gym that is %s stay hidden after a SIGKILL until the next process does the rest',
  async (how, isActive, forGuests, forOwner) => {
    const gym = isActive ? 12 : 11;
    const profiles =
      harness.connection.collection<Pick<ProfileDocument, '_id' | 'version' | 'moved_through'>>('profiles');
    const profile = () => profiles.findOne({ _id: `gym:${gym}` });
    harness.standIns.gyms.set(gym, { user_id: 2, is_active: !isActive, version: 1 });
    const body = { profile_type: GYM, profile_id: gym, title: how, content: 'C' };
    const before = (await harness.send('GET', '/posts')).body.meta.total;
    const ownBefore = (await harness.send('GET', '/posts', { as: OWNER })).body.meta.total;
    expect((await harness.send('POST', '/posts', { as: OWNER, body })).status).toBe(201);
    await fillPosts(harness.connection, { profile_key: `gym:${gym}` }, MANY);
    await harness.content.close();
    const crashing = startCrashTestProcess(MAIN, { ...harness.config, LOG_LEVEL: 'info' });
    await crashing.url();
    await harness.publish(gymChanged, {
      subject: gym,
      version: 2,
      data: { gym_id: gym, name: 'Gym', user_id: 2, is_active: isActive },
    });
    await eventually(async () => (await profile())?.moved_through !== undefined, { intervalMs: 1 });
    await crashing.kill();
    expect(await profile()).toMatchObject({ version: 2, moved_through: expect.any(Number) });
    // No consumer is running, so this is what the killed process left.
    const left = await harness.connection.collection('posts').countDocuments({
      profile_key: `gym:${gym}`,
      is_public: !isActive,
    });
    expect(left).toBeGreaterThan(0);
    harness.content = await startContent(harness.config, { clock: harness.clock });
    const send = apiClient('content', harness.content.url);
    const first = (await send('GET', '/posts')).body.meta.total;
    expect([before, before + forGuests]).toContain(first);
    await eventually(async () => (await profile())?.moved_through === undefined);
    expect((await send('GET', '/posts')).body.meta.total).toBe(before + forGuests);
    expect((await send('GET', '/posts', { as: OWNER })).body.meta.total).toBe(ownBefore + forOwner);
    const posts = harness.connection.collection('posts');
    expect(await posts.countDocuments({ profile_key: `gym:${gym}`, is_public: isActive })).toBe(MANY + 1);
  },
);
