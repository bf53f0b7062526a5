/** What readers see of a profile’s posts while they change from one state to another in steps. */
import { isDeepStrictEqual } from 'node:util';
import { gymChanged } from '@fitness/proto/events/gyms.ts';
import { type Caller, GUEST } from '@fitness/shared/kernel/caller.ts';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { STEP_MAX } from '@fitness/shared/mongo/steps.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createUpdateProfile } from '../src/app/update-profile.ts';
import type { PostFlags } from '../src/domain/post.ts';
import { countKey, facetsOf, NO_POSTS, totalKey } from '../src/domain/post-lists.ts';
import { GONE_PROFILE, type ProfileState, userProfile } from '../src/domain/profile.ts';
import { createStore, type Store } from '../src/store/store.ts';
import { fillPosts, type Harness, openHarness } from './support.ts';

const USER = 'App\\Models\\User';
const GYM = 'App\\Models\\Gym';
const [OWNER, HEIR, OTHER] = [2, 4, 3];
const OPERATOR = caller(9, ['posts.view_all']);
const VIEWERS: [string, Caller][] = [
  ['a guest', GUEST],
  ['the owner', caller(OWNER)],
  ['the next owner', caller(HEIR)],
  ['a holder of posts.view_all', OPERATOR],
  ['another user', caller(OTHER)],
];
const PER_PAGE = 100;
/** A post of a gym that its first step changes. */
const MIDDLE = STEP_MAX >> 1;

/** How a gym changes, one after the other. */
const CHANGES: [string, ProfileState][] = [
  ['closed', { ownerUserId: OWNER, isActive: false, gone: false }],
  ['given away while it is closed', { ownerUserId: HEIR, isActive: false, gone: false }],
  ['opened', { ownerUserId: HEIR, isActive: true, gone: false }],
  ['given away', { ownerUserId: OWNER, isActive: true, gone: false }],
  ['deleted', GONE_PROFILE],
];

interface Row {
  _id: number;
  profile_key: string;
  is_draft: boolean;
  in_blog: boolean;
}

/** `inProfile`: only in the list of the gym. */
interface Filter {
  blog?: boolean;
  inProfile?: boolean;
}
const SEARCHES: [query: string, filter: Filter][] = [['search=t', {}]];

interface Size {
  listCacheMib: number;
  /** Whether everyone reads every page, by number and by cursor. Otherwise few read the first and the last page of each list. */
  isWhole: boolean;
}

/** Copies of a post of the gym: enough for two steps. In the small form, only few see these. */
const copiesOf = ({ is_draft, in_blog }: PostFlags, isWhole: boolean): number => {
  if (isWhole) return STEP_MAX / 4;
  return is_draft && !in_blog ? STEP_MAX : 0;
};

export const testMovingProfiles = ({ listCacheMib, isWhole }: Size): void => {
  const viewers = isWhole ? VIEWERS : VIEWERS.slice(0, 4);
  let harness: Harness;
  let store: Store;
  /** The gym of the current test. */
  let gym = 100;
  /** The state of that gym in its next event. */
  let state: ProfileState;
  let isMoving = false;
  let version = 1;

  beforeAll(async () => {
    harness = await openHarness({ listCacheMib });
    store = createStore(harness.connection, systemClock, 0);
    await write(USER, OTHER, OTHER);
    await write(USER, OWNER, OWNER, { is_draft: true });
  });
  // Removes the gym, to keep the lists of the next test short.
  afterEach(async () => {
    await step(GONE_PROFILE);
    await harness.content.finishMoves();
    const { connection } = harness;
    const row = { $in: (await rows()).filter(isOfGym).map(({ _id }) => _id) };
    await connection.collection('posts').deleteMany({ profile_key: `gym:${gym}` });
    await connection.collection('posts_texts').deleteMany({ row });
  });
  afterAll(() => harness.close());

  const write = async (
    type: string,
    profile: number,
    userId: number,
    flags: object = {},
  ): Promise<number> => {
    const body = { profile_type: type, profile_id: profile, title: 'T', content: 'C', ...flags };
    const answer = await harness.send('POST', '/posts', { as: caller(userId), body });
    expect(answer.status).toBe(201);
    return answer.body.data.id;
  };

  /** Opens a gym with posts, interleaved with other users’ posts. */
  const openGym = async (isActive: boolean): Promise<void> => {
    gym += 1;
    version = 1;
    isMoving = false;
    state = { ownerUserId: OWNER, isActive, gone: false };
    harness.standIns.gyms.set(gym, { user_id: OWNER, is_active: isActive, version });
    for (const is_draft of [false, true])
      for (const in_blog of [false, true]) {
        await write(GYM, gym, OWNER, { is_draft, in_blog });
        const copies = copiesOf({ is_draft, in_blog }, isWhole);
        if (copies > 0)
          await fillPosts(harness.connection, { profile_key: `gym:${gym}`, is_draft, in_blog }, copies);
        await write(USER, OTHER, OTHER, { in_blog });
      }
    // These are left after the first step.
    for (const in_blog of [false, true]) await write(GYM, gym, OWNER, { in_blog });
  };

  /** Runs one step of the gym event’s effect. */
  const step = async (next?: ProfileState): Promise<'done' | 'more'> => {
    if (next !== undefined) {
      state = next;
      version += 1;
    }
    const update = { ref: { kind: 'gym' as const, id: gym }, state, version };
    const updateProfile = createUpdateProfile({ store });
    const rest = await store.transaction((session: ClientSession) => updateProfile(session, update));
    isMoving = rest === 'more';
    return rest;
  };

  const isOfGym = ({ profile_key }: Row): boolean => profile_key === `gym:${gym}`;
  const rows = (): Promise<Row[]> =>
    harness.connection
      .collection<Row>('posts')
      .find({}, { projection: { profile_key: 1, is_draft: 1, in_blog: 1 }, sort: { _id: 1 } })
      .toArray();

  /** The expected ids of a list, newest first. */
  const expected = (stored: readonly Row[], viewer: Caller, { blog, inProfile = false }: Filter): number[] =>
    stored
      .filter((row) => {
        const { profile_key, is_draft, in_blog } = row;
        if (blog !== undefined && in_blog !== blog) return false;
        if (inProfile && !isOfGym(row)) return false;
        const profile = isOfGym(row) ? state : userProfile(Number(profile_key.split(':')[1])).state;
        if (profile.gone) return false;
        if (viewer === OPERATOR) return true;
        const isOwn = viewer.kind === 'user' && viewer.userId === profile.ownerUserId;
        if (isOfGym(row) && isMoving) return inProfile && isOwn;
        return isOwn || (profile.isActive && !is_draft);
      })
      .map(({ _id }) => _id)
      .toSorted((a, b) => b - a);

  const idsOf = ({ body }: { body: { data: { id: number }[] } }): number[] => body.data.map(({ id }) => id);

  /** The ids of pages, each with its number of rows before it: by number, and by cursor. */
  const readPages = async (as: Caller, query: string) => {
    const read = (more: string) => harness.send('GET', `/posts?${query}&per_page=${PER_PAGE}${more}`, { as });
    const first = await read('');
    if (first.status === 404) return 404;
    const { total, next_cursor } = first.body.meta;
    const pages: [from: number, ids: number[]][] = [[0, idsOf(first)]];
    const last = Math.ceil(total / PER_PAGE);
    for (let page = isWhole ? 2 : Math.max(last, 2); page <= last; page += 1) {
      const next = await read(`&page=${page}`);
      expect(next.body.meta.total).toBe(total);
      pages.push([(page - 1) * PER_PAGE, idsOf(next)]);
    }
    for (let cursor = isWhole && next_cursor, from = PER_PAGE; cursor; from += PER_PAGE) {
      const next = await read(`&cursor=${cursor}`);
      pages.push([from, idsOf(next)]);
      cursor = next.body.meta.next_cursor;
    }
    return { total, pages };
  };

  const isUnknown = (as: Caller): boolean => {
    if (state.gone) return true;
    const isOwn = as.kind === 'user' && as.userId === state.ownerUserId;
    return as !== OPERATOR && !isOwn && (isMoving || !state.isActive);
  };

  const listsOf = (as: Caller): [query: string, filter: Filter][] => [
    ['order=DESC', {}],
    ['in_blog=1', { blog: true }],
    [`type=${encodeURIComponent(GYM)}&item_id=${gym}`, { inProfile: true }],
    ...(isWhole || as === GUEST ? SEARCHES : []),
  ];

  const expectLists = async (): Promise<void> => {
    const stored = await rows();
    const all = stored.filter(isOfGym);
    for (const [name, as] of viewers) {
      for (const [query, filter] of listsOf(as)) {
        const ids = expected(stored, as, filter);
        const result = await readPages(as, query);
        const where = [name, query, state, isMoving];
        const isMissing = filter.inProfile === true && isUnknown(as);
        if (result === 404 || isMissing) {
          expect([where, result, isMissing]).toEqual([where, 404, true]);
          continue;
        }
        // Not all ids: the difference would be thousands of lines.
        const read = result.pages.map(([from, page]) => [
          page.length,
          page.find((id, index) => id !== ids[from + index]),
        ]);
        const right = result.pages.map(([from]) => [Math.min(PER_PAGE, ids.length - from), undefined]);
        expect([where, result.total, ...read]).toEqual([where, ids.length, ...right]);
      }
      const visible = new Set([...expected(stored, as, {}), ...expected(stored, as, { inProfile: true })]);
      for (const { _id } of [all[0], all[MIDDLE], all.at(-1)] as Row[]) {
        const { status } = await harness.send('GET', `/posts/${_id}`, { as });
        const right = visible.has(_id) ? 200 : 404;
        expect([name, _id, state, isMoving, status]).toEqual([name, _id, state, isMoving, right]);
      }
    }
  };

  /** Compares facets and counters with what the rows say. */
  const expectExact = async (): Promise<void> => {
    const { connection } = harness;
    const profiles = await connection.collection<{ _id: string }>('profiles').find().toArray();
    const totals: Record<string, number> = {};
    for (const profile of profiles as unknown as Record<string, never>[]) {
      const { _id, kind, profile_id, owner_user_id, is_active, gone, counts } = profile as never as {
        _id: string;
        kind: 'gym' | 'user';
        profile_id: number;
        owner_user_id: number | null;
        is_active: boolean;
        gone: boolean;
        counts: object;
      };
      expect(profile.moved_through).toBeUndefined();
      const current: ProfileState = { ownerUserId: owner_user_id, isActive: is_active, gone };
      const posts = await connection.collection('posts').find({ profile_key: _id }).toArray();
      const counted = { ...NO_POSTS };
      for (const post of posts as unknown as (Row & { facets: string[] })[]) {
        const facets = facetsOf(post, { kind, id: profile_id }, current);
        if (!isDeepStrictEqual(post.facets, facets)) expect(post.facets).toEqual(facets);
        if (gone) continue;
        counted[countKey(post)] += 1;
        const total = totalKey(post, kind, current);
        totals[total] = (totals[total] ?? 0) + 1;
      }
      expect([_id, counts]).toEqual([_id, counted]);
    }
    const counters = await store.counters.posts();
    expect(counters.moving.size).toBe(0);
    for (const kind of ['gym', 'user'] as const)
      for (const is_draft of [false, true])
        for (const in_blog of [false, true]) {
          const key = totalKey({ is_draft, in_blog }, kind, { isActive: true, gone: false });
          expect([key, counters.count(key)]).toEqual([key, totals[key] ?? 0]);
        }
  };

  test('lists and totals have no post of a gym while it changes in steps, and the right posts after that', async () => {
    await openGym(true);
    await expectLists();
    for (const [how, next] of CHANGES) {
      expect([how, await step(next)]).toEqual([how, 'more']);
      await expectLists();
      expect([how, await step()]).toEqual([how, 'done']);
      await expectLists();
      await expectExact();
    }
    // Its last event again.
    expect(await step()).toBe('done');
    await expectExact();
  });

  test('a gym that changes between steps ends in its last state, even if the first event is repeated', async () => {
    await openGym(true);
    const ref = { kind: 'gym' as const, id: gym };
    const updateProfile = createUpdateProfile({ store });
    const closed = { ownerUserId: OWNER, isActive: false, gone: false };
    expect(await step(closed)).toBe('more');
    const first = { ref, state: closed, version };
    expect(await step({ ownerUserId: HEIR, isActive: true, gone: false })).toBe('more');
    await expectLists();
    expect(await store.transaction((session) => updateProfile(session, first))).toBe('done');
    // The same state with a newer version continues the steps of the version before.
    expect(await step(state)).toBe('done');
    await expectLists();
    await expectExact();
    expect(await step({ ...closed })).toBe('more');
    expect(await step(GONE_PROFILE)).toBe('more');
    await expectLists();
    expect(await harness.content.finishMoves()).toBe(1);
    isMoving = false;
    await expectLists();
    await expectExact();
    expect(await harness.content.finishMoves()).toBe(0);
  });

  test('posts that are written, changed or deleted between steps are counted once and seen by their owner', async () => {
    await openGym(false);
    expect(await step({ ownerUserId: OWNER, isActive: true, gone: false })).toBe('more');
    harness.standIns.gyms.set(gym, { user_id: OWNER, is_active: true, version });
    const as = caller(OWNER);
    const written = await write(GYM, gym, OWNER);
    expect((await harness.send('GET', `/posts/${written}`, { as })).status).toBe(200);
    const all = (await rows()).filter(isOfGym);
    // Those of the first step, and those of a later one.
    for (const { _id, is_draft, in_blog } of [all[1], all[MIDDLE >> 1], all[MIDDLE], all.at(-2)] as Row[]) {
      const body = { is_draft: !is_draft, in_blog: !in_blog };
      expect((await harness.send('PUT', `/posts/${_id}`, { as, body })).status).toBe(200);
    }
    await expectLists();
    for (const { _id } of [all[2], all.at(-3)] as Row[])
      expect((await harness.send('DELETE', `/posts/${_id}`, { as })).status).toBe(204);
    await expectLists();
    expect(await step()).toBe('done');
    await expectLists();
    await expectExact();
  });

  test('concurrent writes and gym changes leave exact counters, and no reader sees half a change', async () => {
    await openGym(true);
    const stored = await rows();
    const base = expected(stored, GUEST, {}).length;
    const withoutGym = base - expected(stored, GUEST, { inProfile: true }).length;
    let isOver = false;
    const as = caller(OWNER);
    const writeMany = async (): Promise<void> => {
      for (let index = 0; index < 6; index += 1) {
        const id = await write(GYM, gym, OWNER, { is_draft: true, in_blog: index % 2 === 0 });
        await harness.send('PUT', `/posts/${id}`, { as, body: { title: 'Text', in_blog: index % 3 === 0 } });
        if (index % 2 === 0) await harness.send('DELETE', `/posts/${id}`, { as });
      }
    };
    const read = async (): Promise<void> => {
      while (!isOver) {
        const { total } = (await harness.send('GET', '/posts?per_page=1')).body.meta;
        expect([withoutGym, base]).toContain(total);
      }
    };
    const change = async (): Promise<void> => {
      const profiles = harness.connection.collection<{ _id: string; version: number }>('profiles');
      const ref = { _id: `gym:${gym}` };
      for (const is_active of isWhole ? [false, true, false, true] : [false, true]) {
        version += 1;
        harness.standIns.gyms.set(gym, { user_id: OWNER, is_active, version });
        const data = { gym_id: gym, name: 'Gym', user_id: OWNER, is_active };
        await harness.publish(gymChanged, { subject: gym, version, data });
        // The next event follows while the posts move.
        const hasBegun = async () => (await profiles.findOne(ref))?.version === version;
        await eventually(hasBegun, { intervalMs: 5 });
      }
      const ended = { ...ref, version, moved_through: { $exists: false } };
      await eventually(async () => (await profiles.findOne(ended)) !== null);
    };
    const readers = [read(), read()];
    await Promise.all([writeMany(), writeMany(), change()]).finally(() => {
      isOver = true;
    });
    await Promise.all(readers);
    state = { ownerUserId: OWNER, isActive: true, gone: false };
    await expectLists();
    await expectExact();
  });
};
