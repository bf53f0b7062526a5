import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import { gymChanged } from '@fitness/proto/events/gyms.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { caller, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { userProfile } from '../src/domain/profile.ts';
import { createStore, type Store } from '../src/store/store.ts';
import { type Harness, mediaCopy, openHarness } from './support.ts';

/** Numbered pages while posts change, with and without a cache of lists. */

const USER = 'App\\Models\\User';
const GYM = 'App\\Models\\Gym';
const POST = 'App\\Models\\Posts\\Post';
const GYM_ID = 5;
const OPERATOR = caller(9, ['posts.view_all']);
const WRITERS = [1, 2, 3];

/** A process without a cache, which writes. */
let harness: Harness;
/** Another process, whose cache has what it read before. */
let reader: Send;
/** The lists of one more process with a cache. */
let other: Store;
beforeAll(async () => {
  harness = await openHarness({ listCacheMib: 0 });
  reader = (await harness.replica({}, LIST_CACHE_MIB)).send;
  other = createStore(harness.connection, harness.clock, LIST_CACHE_MIB);
  harness.standIns.gyms.set(GYM_ID, { user_id: 1, is_active: true, version: 1 });
});
afterAll(() => harness.close());

interface Written {
  id: number;
  owner: number;
  isGym: boolean;
  isDraft: boolean;
}
const posts = new Map<number, Written>();
let isGymActive = true;

const write = async (owner: number, isDraft: boolean, isGym = false): Promise<void> => {
  const profile = isGym
    ? { profile_type: GYM, profile_id: GYM_ID }
    : { profile_type: USER, profile_id: owner };
  const body = { ...profile, title: 'T', content: 'C', is_draft: isDraft };
  const answer = await harness.send('POST', '/posts', { as: caller(owner), body });
  expect(answer.status).toBe(201);
  const { id } = answer.body.data;
  posts.set(id, { id, owner, isGym, isDraft });
};

const idsOf = async (send: Send, path: string, as?: ReturnType<typeof caller>): Promise<number[]> => {
  const answer = await send('GET', path, as === undefined ? {} : { as });
  expect(answer.status).toBe(200);
  return answer.body.data.map(({ id }: { id: number }) => id);
};

const isPublic = ({ isDraft, isGym }: Written): boolean => !isDraft && (!isGym || isGymActive);

const viewers = {
  guest: { as: undefined, sees: isPublic },
  member: { as: caller(1), sees: (post: Written) => isPublic(post) || post.owner === 1 },
  operator: { as: OPERATOR, sees: () => true },
};

/** Expects the pages of every viewer, in both orders and processes, to add up to what they see. */
const expectPages = async (): Promise<void> => {
  for (const send of [harness.send, reader])
    for (const { as, sees } of Object.values(viewers))
      for (const order of ['DESC', 'ASC']) {
        const visible = [...posts.values()].filter(sees).map(({ id }) => id);
        const expected = visible.sort((a, b) => (order === 'ASC' ? a - b : b - a));
        const paged: number[] = [];
        for (let page = Math.ceil(expected.length / 5); page >= 1; page -= 1)
          paged.unshift(...(await idsOf(send, `/posts?per_page=5&page=${page}&order=${order}`, as)));
        expect(paged).toEqual(expected);
      }
};

test('no page loses or repeats a post when posts change and a gym becomes inactive', async () => {
  for (let index = 0; index < 12; index += 1)
    await write(WRITERS[index % 3] ?? 1, index % 4 === 0, index % 3 === 0);
  await expectPages();
  await write(2, false);
  await write(1, true);
  await expectPages();
  const [first, , third, fourth] = [...posts.values()];
  for (const post of [first, fourth]) {
    const change = { is_draft: post?.isDraft !== true };
    const as = caller(post?.owner ?? 0);
    expect((await harness.send('PUT', `/posts/${post?.id}`, { as, body: change })).status).toBe(200);
    if (post !== undefined) post.isDraft = change.is_draft;
  }
  await expectPages();
  const as = caller(third?.owner ?? 0);
  expect((await harness.send('DELETE', `/posts/${third?.id}`, { as })).status).toBe(204);
  posts.delete(third?.id ?? 0);
  await expectPages();
  const data = { gym_id: GYM_ID, name: 'Gym', user_id: 1, is_active: false };
  await harness.publish(gymChanged, { subject: GYM_ID, version: 2, data });
  isGymActive = false;
  const shown = [...posts.values()].filter(isPublic).length;
  await eventually(async () => (await harness.send('GET', '/posts?per_page=1')).body.meta.total === shown);
  await expectPages();
});

test('a process sees other processes’ changes, even more than the counters remember', async () => {
  const pageOf = async (): Promise<number[]> => {
    const { versions, newest, count } = await other.counters.posts();
    const total = (
      ['user_public_blog', 'user_public_regular', 'gym_public_blog', 'gym_public_regular'] as const
    )
      .map(count)
      .reduce((sum, one) => sum + one);
    const query = { facets: ['public/any/any'], total, newest, versions };
    const slice = { order: 'DESC', skip: 1, take: 3, counted: true } as const;
    return (await other.posts.list(query, slice)).rows.map(({ id }) => id);
  };
  const newestIds = () =>
    [...posts.values()]
      .filter(isPublic)
      .map(({ id }) => id)
      .sort((a, b) => b - a);
  expect(await pageOf()).toEqual(newestIds().slice(1, 4));
  await write(3, false);
  expect(await pageOf()).toEqual(newestIds().slice(1, 4));
  // The rebuild and the seeds change many posts at once in the same way.
  const { newest } = await other.counters.posts();
  const { ref, state } = userProfile(3);
  const id = newest + 1;
  const written = { id, title: 'T', content: 'C', is_draft: false, in_blog: false, owner_user_id: 3 };
  const moment = { created_at: new Date(), updated_at: new Date(), version: 1, media: NO_MEDIA };
  await other.transaction(async (session) => {
    await other.posts.insert(
      session,
      { ...written, ...moment, profile: ref, is_public: true, gone: false },
      state,
    );
    await other.counters.incrementPosts(session, { user_public_regular: 1 }, { shardKey: id, newest: id });
  });
  posts.set(id, { id, owner: 3, isGym: false, isDraft: false });
  expect(await pageOf()).toEqual(newestIds().slice(1, 4));
});

test('no reader of any process sees a text, search result or files older than a confirmed change', async () => {
  const listed = async (search: string | undefined) => {
    const { versions, newest, count } = await other.counters.posts();
    const total = (['user_public_blog', 'user_public_regular'] as const)
      .map(count)
      .reduce((sum, one) => sum + one);
    const query = { facets: ['public/user/any'], total, newest, versions, search };
    const slice = { order: 'DESC', skip: search === undefined ? 1 : 0, take: 50, counted: true } as const;
    return (await other.posts.list(query, slice)).rows;
  };
  const id = [...posts.values()].find((post) => isPublic(post) && !post.isGym)?.id ?? 0;
  const as = caller(posts.get(id)?.owner ?? 0);
  const titleOf = async (): Promise<string | undefined> =>
    (await listed(undefined)).find((post) => post.id === id)?.title;
  expect(await titleOf()).toBeDefined();
  let confirmed = 0;
  let isWriting = true;
  const read = async () => {
    while (isWriting) {
      const before = confirmed;
      const shown = Number((await titleOf())?.replace('Edition ', '') ?? 0);
      if (before > 0) expect(shown).toBeGreaterThanOrEqual(before);
    }
  };
  const readers = [read(), read()];
  for (let edition = 1; edition <= 10; edition += 1) {
    const change = { title: `Edition ${edition}` };
    expect((await harness.send('PUT', `/posts/${id}`, { as, body: change })).status).toBe(200);
    confirmed = edition;
  }
  isWriting = false;
  await Promise.all(readers);
  expect((await listed('edition 10')).map((post) => post.id)).toEqual([id]);
  expect(await listed('unwritten')).toEqual([]);
  const change = { title: 'Unwritten no more' };
  expect((await harness.send('PUT', `/posts/${id}`, { as, body: change })).status).toBe(200);
  expect((await listed('unwritten')).map((post) => post.id)).toEqual([id]);
  expect(await listed('edition 10')).toEqual([]);
  await harness.saveMedia(mediaCopy(POST, id, ['new.png'], 9));
  const [shown] = await listed('unwritten');
  expect(shown?.media.files.map(({ filename }) => filename)).toEqual(['new.png']);
});
