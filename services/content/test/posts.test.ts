import { gymChanged, gymDeleted } from '@fitness/proto/events/gyms.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { GUEST, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { type Answer, caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { client, type Harness, mediaCopy, NOBODY, openHarness, together } from './support.ts';

const USER = 'App\\Models\\User';
const GYM = 'App\\Models\\Gym';

let harness: Harness;
let nextId = 1;

beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());
beforeEach(() => {
  harness.standIns.down = [];
  harness.standIns.gone.clear();
});

/** An id of a user or gym that no other test uses. */
const fresh = (): number => {
  nextId += 1;
  return nextId;
};
const operator = caller(1, ['posts.view_all', 'posts.update_any']);
const list = (query: Record<string, string | number> = {}, as: UserCaller | typeof GUEST = GUEST) => {
  const search = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
  );
  return harness.send('GET', `/posts?${search.toString()}`, { as });
};
const idsOf = (answer: Answer): number[] => {
  expect(answer.status).toBe(200);
  return answer.body.data.map(({ id }: { id: number }) => id);
};
const send = (as: UserCaller, body: Record<string, unknown>) => harness.send('POST', '/posts', { as, body });

const write = async (userId: number, fields: Record<string, unknown> = {}): Promise<number> => {
  const body = { profile_type: USER, profile_id: userId, title: 'Title', content: 'Content', ...fields };
  const answer = await send(caller(userId), body);
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};

/** Adds a gym to the stand-in of gyms. */
const openGym = (userId: number, isActive = true): number => {
  const id = fresh();
  harness.standIns.gyms.set(id, { user_id: userId, is_active: isActive });
  return id;
};

const publishGym = async (id: number, version: number, userId: number | null, isActive: boolean) => {
  harness.standIns.gyms.set(id, { ...(userId === null ? {} : { user_id: userId }), is_active: isActive });
  await harness.publish(gymChanged, {
    subject: id,
    version,
    data: { gym_id: id, name: 'Gym', user_id: userId, is_active: isActive },
  });
};

const onGym = (gymId: number, fields: Record<string, unknown> = {}) => ({
  profile_type: GYM,
  profile_id: gymId,
  ...fields,
});

/** Expects the totals of the lists to equal the number of their posts. */
const expectTotals = async (): Promise<void> => {
  for (const [as, scope] of [
    [GUEST, 'public'],
    [operator, 'all'],
  ] as const)
    for (const [query, facets] of [
      [{}, `${scope}/any/any`],
      [{ type: USER, in_blog: 'true' }, `${scope}/user/blog`],
      [{ type: GYM, in_blog: 0 }, `${scope}/gym/regular`],
    ] as const) {
      const { total } = (await list({ ...query, per_page: 1 }, as)).body.meta;
      const count = await harness.connection.collection('posts').countDocuments({ facets });
      expect({ query, total }).toEqual({ query, total: count });
    }
};

describe('201: a post is written', () => {
  test('a post on the author’s profile has every field of the resource', async () => {
    const userId = fresh();
    const answer = await send(caller(userId), {
      profile_type: USER,
      profile_id: userId,
      title: ' A title ',
      content: 'Text',
    });
    expect(answer.status).toBe(201);
    const now = formatTimestamp(harness.clock.now());
    expect(answer.body).toEqual({
      data: {
        id: expect.any(Number),
        profile_type: USER,
        profile_id: userId,
        title: 'A title',
        content: 'Text',
        is_draft: false,
        in_blog: false,
        media: [],
        created_at: now,
        updated_at: now,
      },
    });
  });

  test('a post on the caller’s gym is created even if the read model lacks the gym', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    const id = await write(userId, onGym(gymId, { in_blog: true }));
    const { body } = await harness.send('GET', `/posts/${id}`);
    expect(body.data).toMatchObject({ profile_type: GYM, profile_id: gymId, in_blog: true });
  });

  test('both model names of a gym are accepted, and responses have one of them', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    const other = 'App\\Models\\Gyms\\Gym';
    const id = await write(userId, onGym(gymId, { profile_type: other }));
    for (const type of [GYM, other, `${GYM},${other}`]) {
      const answer = await list({ type, item_id: gymId });
      expect([type, idsOf(answer), answer.body.data[0].profile_type]).toEqual([type, [id], GYM]);
    }
    expect((await list({ type: other, item_id: NOBODY })).status).toBe(404);
  });

  test('twenty concurrent posts on one profile are all stored and counted', async () => {
    const userId = fresh();
    const ids = await together(() => write(userId));
    const answer = await list({ type: USER, item_id: userId });
    expect(idsOf(answer)).toEqual(ids.toSorted((a, b) => b - a));
    expect(answer.body.meta.total).toBe(20);
  });
});

describe('a profile that is not the caller’s', () => {
  test('a post on another user’s profile or gym gets 403, and on an unknown or inactive gym 422', async () => {
    const userId = fresh();
    const body = { title: 'T', content: 'C' };
    const post = (fields: Record<string, unknown>) => send(caller(userId), { ...body, ...fields });
    expect((await post({ profile_type: USER, profile_id: fresh() })).status).toBe(403);
    expect((await post(onGym(openGym(fresh())))).status).toBe(403);
    const unknown = await post(onGym(fresh()));
    expect(unknown.status).toBe(422);
    expect(Object.keys(unknown.body.errors)).toEqual(['profile_id']);
    expect((await post(onGym(openGym(fresh(), false)))).text).toBe(unknown.text);
  });

  test('a post on a gym fails with 503 and is not stored while gyms does not respond', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    harness.standIns.down = ['GetGyms'];
    const body = { title: 'T', content: 'C', ...onGym(gymId) };
    expect((await send(caller(userId), body)).status).toBe(503);
    expect(await harness.connection.collection('posts').countDocuments({ profile_id: gymId })).toBe(0);
  });
});

describe('GET, PUT and DELETE of one', () => {
  test('a draft is visible to its owner and operators, and others get 404', async () => {
    const userId = fresh();
    const id = await write(userId, { is_draft: true });
    const unknown = await harness.send('GET', '/posts/999999');
    expect(unknown.status).toBe(404);
    for (const as of [GUEST, caller(fresh())])
      expect((await harness.send('GET', `/posts/${id}`, { as })).text).toBe(unknown.text);
    for (const as of [caller(userId), operator])
      expect((await harness.send('GET', `/posts/${id}`, { as })).status).toBe(200);
    const none = caller(userId, ['posts.create']);
    expect((await harness.send('GET', `/posts/${id}`, { as: none })).status).toBe(403);
  });

  test('a change keeps other fields, and a published post is listed and counted', async () => {
    const userId = fresh();
    const id = await write(userId, { is_draft: true });
    harness.clock.advance(5_000);
    const put = (body: object, as = caller(userId)) => harness.send('PUT', `/posts/${id}`, { as, body });
    const answer = await put({ is_draft: false, title: 'Published' });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({ title: 'Published', content: 'Content', is_draft: false });
    expect(answer.body.data.updated_at > answer.body.data.created_at).toBe(true);
    expect(idsOf(await list({ item_id: userId, type: USER }))).toEqual([id]);
    expect(idsOf(await list({ search: 'published', item_id: userId }))).toEqual([id]);
    expect((await put({ in_blog: true })).status).toBe(200);
    expect(idsOf(await list({ item_id: userId, type: USER, in_blog: 'true' }))).toEqual([id]);
    expect(idsOf(await list({ item_id: userId, type: USER, in_blog: 'false' }))).toEqual([]);
    expect((await put({ is_draft: true })).status).toBe(200);
    expect(idsOf(await list({ item_id: userId, type: USER }))).toEqual([]);
    await expectTotals();
  });

  test('an update without any known field changes nothing', async () => {
    const userId = fresh();
    const id = await write(userId);
    const stored = () => harness.connection.collection<{ _id: number }>('posts').findOne({ _id: id });
    const before = await stored();
    harness.clock.advance(5_000);
    for (const body of [{}, { updated_at: 'x', id: 1 }]) {
      const send = (as: UserCaller) => harness.send('PUT', `/posts/${id}`, { as, body });
      expect((await send(caller(fresh()))).status).toBe(403);
      const answer = await send(caller(userId));
      expect([answer.status, answer.body.data.title]).toEqual([200, 'Title']);
      expect(answer.body.data.updated_at).toBe(answer.body.data.created_at);
      expect(await stored()).toEqual(before);
    }
  });

  test('no change of twenty concurrent ones is lost', async () => {
    const userId = fresh();
    const id = await write(userId);
    const changes = [{ title: 'New' }, { content: 'Newer' }, { in_blog: true }, { is_draft: true }];
    const answers = await together((index) =>
      harness.send('PUT', `/posts/${id}`, { as: caller(userId), body: changes[index % 4] }),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const { body } = await harness.send('GET', `/posts/${id}`, { as: caller(userId) });
    expect(body.data).toMatchObject({ title: 'New', content: 'Newer', in_blog: true, is_draft: true });
    await expectTotals();
  });

  test('another user gets 403 for a published post and 404 for a draft; an operator may delete it', async () => {
    const userId = fresh();
    const [shown, draft] = [await write(userId), await write(userId, { is_draft: true })];
    const other = caller(fresh());
    for (const method of ['PUT', 'DELETE']) {
      const body = method === 'PUT' ? { title: 'x' } : undefined;
      expect((await harness.send(method, `/posts/${shown}`, { as: other, body })).status).toBe(403);
      expect((await harness.send(method, `/posts/${draft}`, { as: other, body })).status).toBe(404);
      expect((await harness.send(method, `/posts/${shown}`, { body })).status).toBe(401);
    }
    expect((await harness.send('DELETE', `/posts/${draft}`, { as: operator })).status).toBe(204);
  });

  test('the previous owner of a transferred gym is refused at once', async () => {
    const [before, after] = [fresh(), fresh()];
    const gymId = openGym(before);
    const id = await write(before, onGym(gymId));
    harness.standIns.gyms.set(gymId, { user_id: after, is_active: true });
    const body = { title: 'x' };
    expect((await harness.send('PUT', `/posts/${id}`, { as: caller(before), body })).status).toBe(403);
    expect((await harness.send('PUT', `/posts/${id}`, { as: caller(after), body })).status).toBe(200);
  });

  test('one of twenty concurrent deletions of a post succeeds, and it publishes one event', async () => {
    const userId = fresh();
    const id = await write(userId);
    const answers = await together(() => harness.send('DELETE', `/posts/${id}`, { as: caller(userId) }));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(19);
    const mine = ({ subject }: { subject: string }) => subject === String(id);
    const event = await harness.tap.waitFor('content.post.deleted', { matches: mine });
    expect(event.data).toEqual({ post_id: id });
    const published = harness.tap.events.filter(
      ({ type, subject }) => type === event.type && mine({ subject }),
    );
    expect(published).toHaveLength(1);
    await expectTotals();
  });
});

describe('the list: visibility', () => {
  test('guests see published posts of public profiles, owners all of their own, operators all posts', async () => {
    const [userId, other] = [fresh(), fresh()];
    const [open, closed] = [openGym(userId), openGym(userId, false)];
    const word = `sight${userId}`;
    const shown = [await write(userId, { title: word }), await write(userId, onGym(open, { title: word }))];
    const hidden = [
      await write(userId, { title: word, is_draft: true }),
      await write(userId, onGym(open, { title: word, is_draft: true })),
      await write(userId, onGym(closed, { title: word })),
    ];
    const all = [...shown, ...hidden];
    const seen = async (as: UserCaller | typeof GUEST) => {
      const searched = idsOf(await list({ search: word, order: 'ASC' }, as));
      const plain = idsOf(await list({ per_page: 100, order: 'DESC' }, as)).filter((id) => all.includes(id));
      expect(plain).toEqual(searched.toReversed());
      return searched;
    };
    expect(await seen(GUEST)).toEqual(shown);
    expect(await seen(caller(other))).toEqual(shown);
    expect(await seen(caller(userId))).toEqual(all);
    expect(await seen(operator)).toEqual(all);
    expect(await seen(caller(other, ['posts.view']))).toEqual(shown);
    await expectTotals();
  });

  test('a token without posts.view and posts.view_all gets 403 before its query is validated', async () => {
    expect((await list({}, caller(fresh(), ['posts.create']))).status).toBe(403);
    expect((await list({ type: 'x' }, caller(fresh(), []))).status).toBe(403);
  });

  test('a page of posts makes no call and shows the media of each post', async () => {
    const userId = fresh();
    const ids = await together(() => write(userId), 5);
    await harness.saveMedia(mediaCopy('App\\Models\\Posts\\Post', ids[0] ?? 0, ['one.png', 'two.png']));
    for (const query of [{ type: USER, item_id: userId }, { search: 'title', item_id: userId }, {}]) {
      harness.standIns.calls.length = 0;
      const answer = await list(query);
      expect(harness.standIns.calls).toEqual([]);
      const first = answer.body.data.find(({ id }: { id: number }) => id === ids[0]);
      expect(first.media.map(({ filename }: { filename: string }) => filename)).toEqual([
        'one.png',
        'two.png',
      ]);
    }
  });
});

describe('the list: calls', () => {
  test('no page of posts makes a call, whatever its content, viewer and query are', async () => {
    const [userId, other] = [fresh(), fresh()];
    const gyms = [openGym(userId), openGym(userId, false), openGym(other)];
    const word = `calls${userId}`;
    for (let index = 0; index < 12; index += 1) {
      const gymId = gyms[index % 3] ?? 0;
      const author = index % 3 === 2 ? other : userId;
      const place = index % 2 === 0 ? onGym(gymId) : { profile_id: author };
      await write(author, {
        ...place,
        title: word,
        is_draft: index % 5 === 0,
        in_blog: index % 4 === 0,
      });
    }
    const everyone = `${userId},${other},${gyms.join(',')}`;
    for (const as of [GUEST, caller(userId), operator])
      for (const query of [
        {},
        { search: word },
        { item_id: everyone },
        { item_id: everyone, search: word },
      ]) {
        const first = await list({ ...query, order: 'ASC', per_page: 2 }, as);
        for (const style of [{}, { page: 2, per_page: 2 }, { cursor: first.body.meta.next_cursor }]) {
          harness.standIns.calls.length = 0;
          const { body } = await list({ ...query, order: 'ASC', ...style }, as);
          expect(body.data.length).toBeGreaterThan(0);
          expect(harness.standIns.calls).toEqual([]);
        }
      }
    // Profiles that the read model does not have take one call for each kind.
    harness.standIns.calls.length = 0;
    const unknownGyms = Array.from({ length: 30 }, () => openGym(userId)).join(',');
    expect(idsOf(await list({ type: GYM, item_id: unknownGyms }))).toEqual([]);
    expect(harness.standIns.calls).toEqual(['GetGyms']);
  });
});

describe('the list: filters', () => {
  test('posts are filtered by one or several types and item ids, alone and together', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    const own = await write(userId);
    const gym = await write(userId, onGym(gymId));
    // A gym and a user with the same id are two profiles.
    const namesake = await write(gymId);
    const both = `${GYM},${USER}`;
    expect(idsOf(await list({ type: GYM, item_id: gymId }))).toEqual([gym]);
    expect(idsOf(await list({ type: both, item_id: gymId }))).toEqual([namesake, gym]);
    expect(idsOf(await list({ item_id: `${gymId},${userId}` }))).toEqual([namesake, gym, own]);
    expect(idsOf(await list({ type: USER, item_id: `${gymId},${userId}`, order: 'ASC' }))).toEqual([
      own,
      namesake,
    ]);
    const gyms = idsOf(await list({ type: GYM, per_page: 100 }));
    expect(gyms).toContain(gym);
    expect(gyms).not.toContain(own);
  });

  test('in_blog filters posts by true and false, and returns all posts without a value', async () => {
    const userId = fresh();
    const [regular, blog] = [await write(userId), await write(userId, { in_blog: true })];
    const query = { type: USER, item_id: userId };
    expect(idsOf(await list({ ...query, in_blog: 'true' }))).toEqual([blog]);
    expect(idsOf(await list({ ...query, in_blog: 'false' }))).toEqual([regular]);
    expect(idsOf(await list(query))).toEqual([blog, regular]);
  });

  test('a post of 20,000 different characters has one index key, and every part of it is found', async () => {
    const userId = fresh();
    const text = Array.from({ length: 19_990 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('');
    const plain = await write(userId, { content: 'plain' });
    const id = await write(userId, { content: `${text} farewell` });
    const stored = await harness.connection
      .collection<{ row: number; grams: string[] }>('posts_texts')
      .find({ row: id })
      .toArray();
    expect(stored.flatMap(({ grams }) => grams)).toHaveLength(1);
    const { title } = (await harness.send('GET', `/posts/${id}`)).body.data;
    for (const search of ['\u4e00', text.slice(9_000, 9_002), text.slice(-5), 'farewell', 'ewe', title])
      for (const filter of [{ type: USER, item_id: userId }, {}]) {
        const answer = await list({ ...filter, search, per_page: 100 });
        expect([search, idsOf(answer).includes(id)]).toEqual([search, true]);
      }
    expect(idsOf(await list({ type: USER, item_id: userId, search: 'lain' }))).toEqual([plain]);
    expect(idsOf(await list({ type: USER, item_id: userId, search: `${text.slice(0, 2)}x` }))).toEqual([]);
    const changed = { content: 'short again' };
    expect((await harness.send('PUT', `/posts/${id}`, { as: caller(userId), body: changed })).status).toBe(
      200,
    );
    expect(idsOf(await list({ type: USER, item_id: userId, search: text.slice(0, 3) }))).toEqual([]);
    expect(idsOf(await list({ type: USER, item_id: userId, search: 'rt ag' }))).toEqual([id]);
  });

  test('search finds folded substrings of title or content, and takes no regular expression', async () => {
    const userId = fresh();
    const persian = await write(userId, { title: 'باشگاه‌هاي كرج ۱۲۳', content: 'x' });
    const latin = await write(userId, { title: 'a+b (C)', content: 'Push-UPS every day' });
    const find = async (search: string) => idsOf(await list({ type: USER, item_id: userId, search }));
    expect(await find('های کرج')).toEqual([persian]);
    expect(await find('باشگاههای')).toEqual([persian]);
    expect(await find('باشگاه های')).toEqual([persian]);
    expect(await find('123')).toEqual([persian]);
    expect(await find('٢')).toEqual([persian]);
    expect(await find('push-ups EV')).toEqual([latin]);
    expect(await find('+b (')).toEqual([latin]);
    expect(await find('p')).toEqual([latin]);
    expect(await find('a.b')).toEqual([]);
    expect(await find('.*')).toEqual([]);
    expect(await find('(C)push')).toEqual([]);
    expect(await find('   ')).toEqual([latin, persian]);
  });

  test('a long query is verified: grams alone are not a match', async () => {
    const userId = fresh();
    await write(userId, { title: 'abca cabc' });
    const answer = await list({ type: USER, item_id: userId, search: 'cabca' });
    expect(idsOf(answer)).toEqual([]);
    expect(answer.body.meta.total).toBe(0);
  });

  test('pages and cursors return every post once, in both orders', async () => {
    const userId = fresh();
    const ids: number[] = [];
    for (let index = 0; index < 7; index += 1)
      ids.push(await write(userId, { title: 'paged', is_draft: index % 3 === 0 }));
    const query = { type: USER, item_id: userId };
    const first = await list({ ...query, per_page: 3 }, caller(userId));
    expect(first.body.data).toHaveLength(3);
    expect(first.body.meta).toMatchObject({ total: 7, last_page: 3, per_page: 3, current_page: 1 });
    expect(first.body.links.next).toContain('page=2');
    for (const order of ['ASC', 'DESC'] as const) {
      const expected = order === 'ASC' ? ids : ids.toReversed();
      for (const base of [query, { ...query, search: 'PAGED' }, { search: 'paged' }]) {
        const pages = [1, 2, 3].map((page) => list({ ...base, order, page, per_page: 3 }, caller(userId)));
        expect((await Promise.all(pages)).flatMap(idsOf)).toEqual(expected);
        const seen: number[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const cursorQuery: Record<string, string> = cursor === '' ? {} : { cursor };
          const page: Answer = await list({ ...base, order, per_page: 3, ...cursorQuery }, caller(userId));
          seen.push(...idsOf(page));
          cursor = page.body.meta.next_cursor;
        }
        expect(seen).toEqual(expected);
      }
    }
    const beyond = await list({ ...query, page: 334 });
    expect(beyond.body.data).toEqual([]);
  });

  test('a made-up cursor is rejected with 422 and any id', async () => {
    for (const id of [0, -5, 7, 1e15, 1e300, 0.5]) {
      const cursor = Buffer.from(JSON.stringify([id])).toString('base64url');
      for (const order of ['ASC', 'DESC']) expect((await list({ cursor, order })).status).toBe(422);
      expect((await list({ cursor, search: 'title' })).status).toBe(422);
    }
  });
});

describe('404 for one type without a visible profile', () => {
  test('a list of an unknown or erased profile, or of another user’s inactive gym, returns 404', async () => {
    const [userId, erased] = [fresh(), fresh()];
    const closed = openGym(userId, false);
    harness.standIns.gone.add(erased);
    const unknown = await list({ type: GYM, item_id: NOBODY });
    expect(unknown.status).toBe(404);
    expect((await list({ type: USER, item_id: NOBODY })).status).toBe(404);
    expect((await list({ type: USER, item_id: erased })).status).toBe(404);
    expect((await list({ type: GYM, item_id: 0 })).status).toBe(404);
    expect((await list({ type: GYM, item_id: closed })).text).toBe(unknown.text);
    expect(idsOf(await list({ type: GYM, item_id: closed }, caller(userId)))).toEqual([]);
    expect(idsOf(await list({ type: GYM, item_id: closed }, operator))).toEqual([]);
  });

  test('a list returns 200 for two types, for a profile without posts, and if one of several exists', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    expect(idsOf(await list({ type: `${GYM},${USER}`, item_id: NOBODY }))).toEqual([]);
    expect(idsOf(await list({ item_id: NOBODY }))).toEqual([]);
    expect(idsOf(await list({ type: USER, item_id: userId }))).toEqual([]);
    expect(idsOf(await list({ type: GYM, item_id: gymId }))).toEqual([]);
    expect(idsOf(await list({ type: GYM, item_id: `${NOBODY},${gymId}` }))).toEqual([]);
  });

  test('a list of unknown profiles returns 503 while the service that owns them does not respond', async () => {
    harness.standIns.down = ['GetGyms', 'GetHiddenUsers'];
    expect((await list({ type: GYM, item_id: NOBODY })).status).toBe(503);
    expect((await list({ type: USER, item_id: NOBODY })).status).toBe(503);
  });
});

test.each([
  ['type', { type: 'App\\Models\\Posts\\Post' }],
  ['type', { type: `${USER},x` }],
])('an invalid %s in the query %j is rejected with 422', async (field, query) => {
  const answer = await list(query);
  expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [field]]);
});

test('a post without a title is rejected with 422 under it', async () => {
  const userId = fresh();
  const answer = await send(caller(userId), { profile_type: USER, profile_id: userId, content: 'C' });
  expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['title']]);
});

test('a character outside the basic plane is counted once', async () => {
  const userId = fresh();
  const sent = {
    profile_type: USER,
    profile_id: userId,
    title: '💪'.repeat(255),
    content: '💪'.repeat(20_000),
  };
  const answer = await send(caller(userId), sent);
  expect([answer.status, answer.body.data?.title]).toEqual([201, sent.title]);
  expect((await send(caller(userId), { ...sent, title: `${sent.title}💪` })).status).toBe(422);
});

describe('the permission to see all posts', () => {
  test('posts.view_all does not let a token change or delete other users’ posts', async () => {
    const id = await write(fresh());
    const reader = caller(fresh(), ['posts.view_all']);
    expect((await harness.send('GET', `/posts/${id}`, { as: reader })).status).toBe(200);
    expect((await harness.send('PUT', `/posts/${id}`, { as: reader, body: { title: 'Mine' } })).status).toBe(
      403,
    );
    expect((await harness.send('DELETE', `/posts/${id}`, { as: reader })).status).toBe(403);
    const writer = caller(fresh(), ['posts.create', 'posts.view_all']);
    expect((await harness.send('PUT', `/posts/${id}`, { as: writer, body: { title: 'Mine' } })).status).toBe(
      403,
    );
    expect((await harness.send('GET', `/posts/${id}`, { as: reader })).body.data.title).toBe('Title');
    // 403, not 404: the token sees the draft.
    const draft = await write(fresh(), { is_draft: true });
    const path = `/posts/${draft}`;
    expect((await harness.send('PUT', path, { as: writer, body: { title: 'Mine' } })).status).toBe(403);
    expect((await harness.send('DELETE', path, { as: writer })).status).toBe(403);
  });
});

describe('events of gyms and accounts', () => {
  test('an inactive gym hides its posts, an active one shows them, and the totals are right', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    const id = await write(userId, onGym(gymId));
    const draft = await write(userId, onGym(gymId, { is_draft: true, in_blog: true }));
    const status = async () => (await harness.send('GET', `/posts/${id}`)).status;
    await publishGym(gymId, 5, userId, false);
    await eventually(async () => (await status()) === 404);
    expect(idsOf(await list({ type: GYM, item_id: gymId }, caller(userId)))).toEqual([draft, id]);
    expect((await list({ type: GYM, item_id: gymId })).status).toBe(404);
    await expectTotals();
    await publishGym(gymId, 6, userId, true);
    await eventually(async () => (await status()) === 200);
    expect(idsOf(await list({ type: GYM, item_id: gymId }))).toEqual([id]);
    await expectTotals();
  });

  test('an event with an older version changes nothing', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    const id = await write(userId, onGym(gymId));
    await publishGym(gymId, 9, userId, true);
    await publishGym(gymId, 8, userId, false);
    const marker = openGym(userId);
    await publishGym(marker, 1, userId, true);
    const profiles = harness.connection.collection<{ _id: string; is_active: boolean }>('profiles');
    await eventually(async () => (await profiles.findOne({ _id: `gym:${marker}` })) !== null);
    expect((await harness.send('GET', `/posts/${id}`)).status).toBe(200);
    expect(await profiles.findOne({ _id: `gym:${gymId}` })).toMatchObject({ version: 9, is_active: true });
  });

  test('the next post on a gym makes up for a lost event', async () => {
    const [before, after] = [fresh(), fresh()];
    const gymId = openGym(before);
    const draft = await write(before, onGym(gymId, { is_draft: true }));
    harness.standIns.gyms.set(gymId, { user_id: after, is_active: false, version: 4 });
    const own = await write(after, onGym(gymId));
    const query = { type: GYM, item_id: gymId };
    expect(idsOf(await list(query, caller(after)))).toEqual([own, draft]);
    expect((await list(query, caller(before))).status).toBe(404);
    expect((await harness.send('GET', `/posts/${own}`)).status).toBe(404);
    // An event older than the response arrives late, and changes nothing.
    await publishGym(gymId, 3, before, true);
    const marker = openGym(after);
    await publishGym(marker, 1, after, true);
    const profiles = harness.connection.collection<{ _id: string }>('profiles');
    await eventually(async () => (await profiles.findOne({ _id: `gym:${marker}` })) !== null);
    expect(await profiles.findOne({ _id: `gym:${gymId}` })).toMatchObject({ version: 4, is_active: false });
    await expectTotals();
  });

  test('an event that is delivered many times has one effect', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    await write(userId, onGym(gymId));
    await together(() => publishGym(gymId, 6, userId, false));
    const inbox = harness.connection.collection('inbox');
    await eventually(async () => (await inbox.countDocuments({ consumer: gymChanged.type })) >= 20);
    expect((await list({ type: GYM, item_id: gymId })).status).toBe(404);
    await expectTotals();
  });

  test('the new owner of a gym sees its drafts, and the previous owner does not', async () => {
    const [before, after] = [fresh(), fresh()];
    const gymId = openGym(before);
    const draft = await write(before, onGym(gymId, { is_draft: true }));
    await publishGym(gymId, 2, after, true);
    const query = { type: GYM, item_id: gymId };
    await eventually(async () => idsOf(await list(query, caller(after))).includes(draft));
    expect(idsOf(await list(query, caller(before)))).toEqual([]);
    expect((await harness.send('GET', `/posts/${draft}`, { as: caller(before) })).status).toBe(404);
    const all = { per_page: 100 };
    expect(idsOf(await list(all, caller(after)))).toContain(draft);
    expect(idsOf(await list(all, caller(before)))).not.toContain(draft);
  });

  test('posts of a deleted gym are hidden at once, then deleted, each with its event', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    const ids = await together(() => write(userId, onGym(gymId)), 6);
    harness.standIns.gyms.delete(gymId);
    await harness.publish(gymDeleted, { subject: gymId, version: 7, data: { gym_id: gymId } });
    const query = { type: GYM, item_id: gymId };
    await eventually(async () => (await list(query, operator)).status === 404);
    for (const as of [GUEST, caller(userId), operator])
      expect((await harness.send('GET', `/posts/${ids[0]}`, { as })).status).toBe(404);
    for (const as of [caller(userId), operator]) {
      const body = { title: 'Late' };
      expect((await harness.send('PUT', `/posts/${ids[0]}`, { as, body })).status).toBe(404);
      expect((await harness.send('DELETE', `/posts/${ids[0]}`, { as })).status).toBe(404);
    }
    expect(idsOf(await list({ per_page: 100 }, operator))).not.toContain(ids[0]);
    await expectTotals();
    const rounds = await together(() => harness.content.removeGonePosts(), 3);
    expect(rounds.reduce((sum, removed) => sum + removed, 0)).toBeGreaterThanOrEqual(6);
    for (const id of ids)
      await harness.tap.waitFor('content.post.deleted', { matches: ({ subject }) => subject === String(id) });
    const published = harness.tap.events.filter(
      ({ type, subject }) => type === 'content.post.deleted' && ids.includes(Number(subject)),
    );
    expect(published).toHaveLength(6);
    expect(await harness.connection.collection('posts').countDocuments({ profile_id: gymId })).toBe(0);
    // Late events do not bring the gym back.
    const inbox = harness.connection.collection('inbox');
    const handled = await inbox.countDocuments({ consumer: gymChanged.type });
    await publishGym(gymId, 6, userId, true);
    await publishGym(gymId, 8, userId, true);
    await eventually(async () => (await inbox.countDocuments({ consumer: gymChanged.type })) === handled + 2);
    expect((await list(query, operator)).status).toBe(404);
    await expectTotals();
  });

  test('posts and training services of an erased account are deleted, each with its event', async () => {
    const userId = fresh();
    const post = await write(userId);
    const service = await harness.send('POST', '/training-services', {
      as: caller(userId),
      body: { title: 'T', description: '', price: 5, duration_days: 1 },
    });
    const deleted_at = formatTimestamp(harness.clock.now());
    await harness.publish(accountDeleted, {
      subject: userId,
      version: 4,
      data: { user_id: userId, deleted_at },
    });
    const id = service.body.data.id;
    const event = await harness.tap.waitFor('content.training_service.deleted', {
      matches: ({ subject }) => subject === String(id),
    });
    expect(event.data).toEqual({ training_service_id: id });
    expect((await harness.send('GET', `/posts/${post}`, { as: operator })).status).toBe(404);
    expect((await list({ type: USER, item_id: userId }, operator)).status).toBe(404);
    expect(await harness.content.removeGonePosts()).toBeGreaterThanOrEqual(1);
    await harness.tap.waitFor('content.post.deleted', { matches: ({ subject }) => subject === String(post) });
    await expectTotals();
  });

  test('a post or training service that an erased account creates is refused', async () => {
    const userId = fresh();
    const deleted_at = formatTimestamp(harness.clock.now());
    await harness.publish(accountDeleted, {
      subject: userId,
      version: 4,
      data: { user_id: userId, deleted_at },
    });
    const gone = { _id: `user:${userId}` as never, gone: true };
    await eventually(
      async () => (await harness.connection.collection('profiles').countDocuments(gone)) === 1,
    );
    const service = { title: 'T', description: '', price: 5, duration_days: 1 };
    const answers = await Promise.all([
      harness.send('POST', '/training-services', { as: caller(userId), body: service }),
      harness.send('POST', '/posts', {
        as: caller(userId),
        body: { profile_type: USER, profile_id: userId, title: 'T', content: 'C' },
      }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 422]);
    const rows = harness.connection.collection('training_services');
    expect(await rows.countDocuments({ user_id: userId })).toBe(0);
    await expectTotals();
  });

  test('events that were published while content was down are handled', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    const id = await write(userId, onGym(gymId));
    await harness.content.close();
    await publishGym(gymId, 3, userId, false);
    await harness.restart();
    await eventually(async () => (await harness.send('GET', `/posts/${id}`)).status === 404);
  });

  test('posts that are written while their gym becomes inactive end up hidden', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    await write(userId, onGym(gymId));
    const writing = together(() => write(userId, onGym(gymId)));
    await publishGym(gymId, 3, userId, false);
    await writing;
    const profiles = harness.connection.collection<{ _id: string; is_active: boolean }>('profiles');
    await eventually(async () => (await profiles.findOne({ _id: `gym:${gymId}` }))?.is_active === false);
    const posts = harness.connection.collection('posts');
    expect(await posts.countDocuments({ profile_id: gymId, is_public: true })).toBe(0);
    expect(await posts.countDocuments({ profile_id: gymId })).toBe(21);
    await expectTotals();
  });
});

describe('gRPC', () => {
  test('GetPosts returns owner and visibility from the service that owns the profile', async () => {
    const userId = fresh();
    const gymId = openGym(userId);
    const [own, draft] = [await write(userId), await write(userId, { is_draft: true })];
    const gym = await write(userId, onGym(gymId));
    const content = client(grpcDefinitions.content(), harness.content.grpcAddress);
    const ask = async () => (await content.call('GetPosts', { ids: [own, draft, gym, 999_999] })).posts;
    const row = (id: number, profile_type: string, profile_id: number) => ({ id, profile_type, profile_id });
    expect(await ask()).toMatchObject([
      { ...row(own, USER, userId), is_draft: false, owner_user_id: userId, is_public: true },
      { ...row(draft, USER, userId), is_draft: true, owner_user_id: userId, is_public: false },
      { ...row(gym, GYM, gymId), is_draft: false, owner_user_id: userId, is_public: true },
    ]);
    harness.standIns.gyms.set(gymId, { user_id: userId + 1, is_active: false });
    expect((await ask())[2]).toMatchObject({ owner_user_id: userId + 1, is_public: false });
    harness.standIns.gone.add(userId);
    expect((await ask()).map(({ id }) => id)).toEqual([gym]);
    harness.standIns.down = ['GetGyms'];
    await expect(ask()).rejects.toMatchObject({ kind: 'unavailable' });
    content.close();
  });

  test('GetTrainingServices returns those that exist and refuses more than 200 ids', async () => {
    const userId = fresh();
    const made = await harness.send('POST', '/training-services', {
      as: caller(userId),
      body: { title: 'T', description: '', price: 5, duration_days: 1, is_active: false },
    });
    const content = client(grpcDefinitions.content(), harness.content.grpcAddress);
    const { id } = made.body.data;
    const answer = await content.call('GetTrainingServices', { ids: [999_999, id] });
    expect(answer.training_services).toEqual([{ id, user_id: userId, title: 'T', is_active: false }]);
    const many = Array.from({ length: 201 }, (_, index) => index + 1);
    await expect(content.call('GetTrainingServices', { ids: many })).rejects.toMatchObject({
      kind: 'validation',
    });
    await expect(content.call('GetPosts', { ids: many })).rejects.toMatchObject({ kind: 'validation' });
    content.close();
  });
});
