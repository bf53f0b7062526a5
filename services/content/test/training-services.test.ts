import { boostEnded, boostGranted } from '@fitness/proto/events/store-billing.ts';
import { GUEST, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import {
  type Answer,
  appCaller,
  caller,
  eventually,
  restrictedCaller,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Harness, mediaCopy, openHarness, together } from './support.ts';

let harness: Harness;
let nextUser = 1;

beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());
beforeEach(() => {
  harness.standIns.down = [];
  harness.standIns.pending.clear();
  harness.standIns.gone.clear();
});

const someone = (): number => {
  nextUser += 1;
  return nextUser;
};
const operator = caller(1, [
  'posts.view_all',
  'users.view_all',
  'training_services.create',
  'training_services.update_any',
]);
const draft = { title: 'Cutting', description: 'Eight weeks', price: 500_000, duration_days: 56 };

const offer = async (userId: number, fields: Record<string, unknown> = {}): Promise<number> => {
  const answer = await harness.send('POST', '/training-services', {
    as: caller(userId),
    body: { ...draft, ...fields },
  });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};

const idsOf = (answer: Answer): number[] => {
  expect(answer.status).toBe(200);
  return answer.body.data.map(({ id }: { id: number }) => id);
};

describe('201: a training service is offered', () => {
  test('a new training service is returned with the caller’s full user, and is published', async () => {
    const userId = someone();
    const answer = await harness.send('POST', '/training-services', { as: caller(userId), body: draft });
    expect(answer.status).toBe(201);
    const { id, user, ...rest } = answer.body.data;
    const now = formatTimestamp(harness.clock.now());
    expect(rest).toEqual({
      ...draft,
      user_id: userId,
      is_active: true,
      boost: null,
      media: [],
      created_at: now,
      updated_at: now,
    });
    expect(user).toMatchObject({ id: userId, email: `user${userId}@example.test` });
    const event = await harness.tap.waitFor('content.training_service.changed', {
      matches: ({ subject }) => subject === String(id),
    });
    expect(event.data).toEqual({ training_service_id: id, user_id: userId, is_active: true });
  });

  test('twenty concurrent training services get twenty different ids', async () => {
    const userId = someone();
    const ids = await together(() => offer(userId));
    expect(new Set(ids).size).toBe(20);
  });
});

describe('200: one is read', () => {
  test('a guest sees a training service with a limited user, its media and its live boost', async () => {
    const userId = someone();
    const id = await offer(userId);
    harness.standIns.boosts.set(id, { level: 2, ends_at: '2027-01-01 00:00:00' });
    await harness.saveMedia(mediaCopy('App\\Models\\TrainingServices\\TrainingService', id, ['a.png']));
    const { status, body } = await harness.send('GET', `/training-services/${id}`);
    expect(status).toBe(200);
    expect(body.data.user.email).toBeUndefined();
    expect(body.data.user.deletion_requested_at).toBeUndefined();
    expect(body.data.boost).toMatchObject({ boostable_id: id, level: 2 });
    expect(body.data.media).toHaveLength(1);
    expect(body.data.media[0]).toMatchObject({ filename: 'a.png', purpose: null });
  });

  test.each(['slow', 'down'])(
    'a running boost is shown alone and in the list while store-billing is %s',
    async (how) => {
      const userId = someone();
      const id = await offer(userId);
      const at = (ms: number) => formatTimestamp(new Date(harness.clock.now().getTime() + ms));
      const boostable = { boostable_type: 'training_service' as const, boostable_id: id };
      const times = { starts_at: at(-1_000), ends_at: at(DAY_MS) };
      const data = { boost_id: 70_000 + id, ...boostable, level: 2, ...times };
      await harness.publish(boostGranted, { subject: data.boost_id, data });
      const rows = harness.connection.collection<{ _id: number }>('training_services');
      await eventually(async () => (await rows.countDocuments({ _id: id, boost_level: 2 })) === 1);
      if (how === 'down') harness.standIns.down = ['GetBoosts'];
      else harness.standIns.before.set('GetBoosts', () => new Promise(() => undefined));
      const shown = async () => [
        (await harness.send('GET', `/training-services/${id}`)).body.data.boost,
        (await harness.send('GET', `/training-services?user_id=${userId}`)).body.data[0].boost,
      ];
      const boost = {
        ...{ id: data.boost_id, level: 2, boostable_id: id },
        boostable_type: 'App\\Models\\TrainingServices\\TrainingService',
        ...{ ...times, created_at: times.starts_at },
      };
      expect(await shown()).toEqual([boost, boost]);
      harness.clock.advance(DAY_MS + 1_000);
      expect(await shown()).toEqual([null, null]);
      harness.standIns.before.delete('GetBoosts');
    },
  );

  test('requests fail with 503 while identity is down', async () => {
    const id = await offer(someone());
    harness.standIns.down = ['GetHiddenUsers'];
    expect((await harness.send('GET', `/training-services/${id}`)).status).toBe(503);
    harness.standIns.down = ['ShowUsers'];
    expect((await harness.send('GET', '/training-services')).status).toBe(503);
  });

  test('an inactive training service gets others the same 404 as one that does not exist', async () => {
    const userId = someone();
    const id = await offer(userId, { is_active: false });
    const unknown = await harness.send('GET', '/training-services/999999');
    for (const as of [GUEST, caller(someone())]) {
      const answer = await harness.send('GET', `/training-services/${id}`, { as });
      expect(answer.status).toBe(404);
      expect(answer.text).toBe(unknown.text);
    }
    expect((await harness.send('GET', `/training-services/${id}`, { as: caller(userId) })).status).toBe(200);
    expect((await harness.send('GET', `/training-services/${id}`, { as: operator })).status).toBe(200);
  });

  test.each([
    ['restricted', restrictedCaller],
    ['OAuth', appCaller],
  ])(
    'a %s token sees the seller’s inactive services only with training_services.create',
    async (_kind, token) => {
      const userId = someone();
      const id = await offer(userId, { is_active: false });
      const without = token(userId, 'posts.view', 'payments.view_own');
      const covered = token(userId, 'training_services.create');
      const statuses = [without, covered].map(async (as) => [
        (await harness.send('GET', `/training-services/${id}`, { as })).status,
        idsOf(await harness.send('GET', `/training-services?user_id=${userId}`, { as })),
        idsOf(await harness.send('GET', '/training-services?per_page=100', { as })).includes(id),
      ]);
      expect(await Promise.all(statuses)).toEqual([
        [404, [], false],
        [200, [id], true],
      ]);
    },
  );

  test('a holder of posts.view_all can read each inactive training service, but change none', async () => {
    const userId = someone();
    const id = await offer(userId, { is_active: false });
    const reader = caller(someone(), ['posts.view_all']);
    expect(idsOf(await harness.send('GET', `/training-services?user_id=${userId}`, { as: reader }))).toEqual([
      id,
    ]);
    expect((await harness.send('GET', `/training-services/${id}`, { as: reader })).status).toBe(200);
    const seller = caller(someone(), ['posts.view_all', 'training_services.create']);
    const body = { title: 'Mine' };
    expect((await harness.send('PUT', `/training-services/${id}`, { as: seller, body })).status).toBe(403);
    expect((await harness.send('DELETE', `/training-services/${id}`, { as: seller })).status).toBe(403);
  });

  test('others get 404 for a training service while the deletion of its seller is scheduled', async () => {
    const userId = someone();
    const id = await offer(userId);
    harness.standIns.pending.add(userId);
    expect((await harness.send('GET', `/training-services/${id}`)).status).toBe(404);
    expect((await harness.send('GET', `/training-services/${id}`, { as: caller(userId) })).status).toBe(200);
    expect((await harness.send('GET', `/training-services/${id}`, { as: operator })).status).toBe(200);
  });
});

describe('PUT and DELETE', () => {
  test('a change keeps other fields, and none of twenty concurrent changes is lost', async () => {
    const userId = someone();
    const id = await offer(userId);
    const fields = ['title', 'description', 'price', 'duration_days'] as const;
    const answers = await together((index) => {
      const field = fields[index % 4] ?? 'title';
      const value = field === 'price' || field === 'duration_days' ? 77 : 'changed';
      return harness.send('PUT', `/training-services/${id}`, {
        as: caller(userId),
        body: { [field]: value },
      });
    });
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const { body } = await harness.send('GET', `/training-services/${id}`);
    expect(body.data).toMatchObject({
      title: 'changed',
      description: 'changed',
      price: 77,
      duration_days: 77,
      is_active: true,
    });
  });

  test('a change without any known field changes nothing and publishes nothing', async () => {
    const userId = someone();
    const id = await offer(userId);
    const stored = () =>
      harness.connection
        .collection<{ _id: number; version: number }>('training_services')
        .findOne({ _id: id });
    const put = (as: UserCaller, body: object) =>
      harness.send('PUT', `/training-services/${id}`, { as, body });
    const before = await stored();
    harness.clock.advance(5_000);
    for (const body of [{}, { updated_at: 'x', user_id: 1 }]) {
      expect((await put(caller(someone()), body)).status).toBe(403);
      const answer = await put(caller(userId), body);
      expect([answer.status, answer.body.data.title]).toEqual([200, draft.title]);
      expect(await stored()).toEqual(before);
    }
    expect((await put(caller(userId), { title: 'Later' })).status).toBe(200);
    expect((await stored())?.version).toBe((before?.version ?? 0) + 1);
    // In order: an event of an unchanged version would be before that of the later one.
    const published = () =>
      harness.tap.events.filter(
        ({ type, subject }) => type === 'content.training_service.changed' && subject === String(id),
      );
    await eventually(() => published().length >= 2);
    expect(published().map(({ aggregateversion }) => aggregateversion)).toEqual([1, 2]);
  });

  test('operators may change a training service; others get 403, guests 401 and unknown ids 404', async () => {
    const id = await offer(someone());
    const put = (as: Parameters<typeof caller>[0] | 'guest', path = id) =>
      harness.send('PUT', `/training-services/${path}`, {
        as: as === 'guest' ? GUEST : caller(as),
        body: { title: 'x' },
      });
    expect((await put(someone())).status).toBe(403);
    expect((await put('guest')).status).toBe(401);
    expect((await put(someone(), 999_999)).status).toBe(404);
    const changed = await harness.send('PUT', `/training-services/${id}`, {
      as: operator,
      body: { title: 'Checked' },
    });
    expect(changed.body.data.title).toBe('Checked');
    expect((await harness.send('DELETE', `/training-services/${id}`, { as: caller(someone()) })).status).toBe(
      403,
    );
    expect((await harness.send('DELETE', `/training-services/${id}`, { as: operator })).status).toBe(204);
    expect((await harness.send('GET', `/training-services/${id}`)).status).toBe(404);
  });

  test('one of twenty concurrent deletions succeeds and publishes one event', async () => {
    const userId = someone();
    const id = await offer(userId);
    const answers = await together(() =>
      harness.send('DELETE', `/training-services/${id}`, { as: caller(userId) }),
    );
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(19);
    const mine = ({ subject }: { subject: string }) => subject === String(id);
    await harness.tap.waitFor('content.training_service.deleted', { matches: mine });
    const published = harness.tap.events.filter(
      (event) => event.type === 'content.training_service.deleted' && mine(event),
    );
    expect(published).toHaveLength(1);
  });
});

describe('the list', () => {
  test('inactive training services are listed only to their seller and to operators', async () => {
    const userId = someone();
    const active = await offer(userId);
    const inactive = await offer(userId, { is_active: false });
    const list = `/training-services?user_id=${userId}`;
    expect(idsOf(await harness.send('GET', list))).toEqual([active]);
    expect(idsOf(await harness.send('GET', list, { as: caller(someone()) }))).toEqual([active]);
    expect(idsOf(await harness.send('GET', list, { as: caller(userId) }))).toEqual([inactive, active]);
    expect(idsOf(await harness.send('GET', list, { as: operator }))).toEqual([inactive, active]);
    const mine = await harness.send('GET', '/training-services?per_page=100', { as: caller(userId) });
    expect(idsOf(mine)).toEqual(expect.arrayContaining([inactive, active]));
    const others = await harness.send('GET', '/training-services?per_page=100', { as: caller(someone()) });
    expect(idsOf(others)).not.toContain(inactive);
  });

  test('a seller with a scheduled deletion is hidden from viewers without users.view_all', async () => {
    const [staying, leaving] = [someone(), someone()];
    const remaining = await offer(staying, { title: 'Pending list' });
    const hidden = await offer(leaving, { title: 'Pending list' });
    const list = '/training-services?search=pending%20list';
    const before = await harness.send('GET', list, { as: caller(staying) });
    expect(idsOf(before)).toEqual([hidden, remaining]);
    // Viewers see all fields of themselves, and limited fields of other users.
    expect(before.body.data.map(({ user }: { user: { email?: string } }) => user.email)).toEqual([
      undefined,
      `user${staying}@example.test`,
    ]);
    harness.standIns.pending.add(leaving);
    expect(idsOf(await harness.send('GET', list))).toEqual([remaining]);
    expect(idsOf(await harness.send('GET', list, { as: caller(leaving) }))).toEqual([remaining]);
    expect(idsOf(await harness.send('GET', list, { as: operator }))).toEqual([hidden, remaining]);
  });

  test('no page of a hidden seller reveals how many rows it hides, even past the end', async () => {
    const userId = someone();
    await together(() => offer(userId), 3);
    harness.standIns.pending.add(userId);
    const nobody = someone();
    for (const query of [
      '',
      '&page=2',
      '&per_page=2&page=2',
      '&search=cut&per_page=1&page=2',
      '&min_price=1&page=9',
    ]) {
      const of = (id: number, as?: ReturnType<typeof caller>) =>
        harness.send('GET', `/training-services?user_id=${id}${query}`, as === undefined ? {} : { as });
      const { links, ...hidden } = (await of(userId)).body;
      const { links: _, ...empty } = (await of(nobody)).body;
      expect([query, hidden]).toEqual([query, empty]);
      expect(links.next).toBeNull();
      expect((await of(userId, operator)).body.meta.total).toBe(3);
    }
  });

  test('the training services of an erased seller are shown to nobody', async () => {
    const userId = someone();
    const id = await offer(userId);
    harness.standIns.gone.add(userId);
    const list = `/training-services?user_id=${userId}`;
    expect(idsOf(await harness.send('GET', list))).toEqual([]);
    expect(idsOf(await harness.send('GET', list, { as: operator }))).toEqual([]);
    expect((await harness.send('GET', `/training-services/${id}`, { as: operator })).status).toBe(404);
    for (const as of [GUEST, operator])
      for (const query of ['', '&page=2', '&search=cut&page=2', '&min_price=1&page=2']) {
        const { meta, links } = (await harness.send('GET', list + query, { as })).body;
        expect([query, meta.total, links.next]).toEqual([query, 0, null]);
      }
  });

  test('a search folds case, letters and digits, and can be combined with a price range', async () => {
    const userId = someone();
    const cheap = await offer(userId, { title: 'برنامه‌ي كاهش وزن ۱۲ هفته', price: 1_000 });
    const dear = await offer(userId, { title: 'X', description: 'کاهش وزن WITH coach', price: 9_000 });
    const list = (query: string) => harness.send('GET', `/training-services?user_id=${userId}&${query}`);
    expect(idsOf(await list(`search=${encodeURIComponent('کاهش وزن')}`))).toEqual([dear, cheap]);
    expect(idsOf(await list('search=12'))).toEqual([cheap]);
    expect(idsOf(await list('search=with%20COACH'))).toEqual([dear]);
    expect(idsOf(await list('search=.*'))).toEqual([]);
    expect(idsOf(await list('search=%20'))).toEqual([dear, cheap]);
    expect(idsOf(await list('min_price=1001'))).toEqual([dear]);
    expect(idsOf(await list('max_price=1000'))).toEqual([cheap]);
    expect(idsOf(await list('min_price=1000&max_price=9000'))).toEqual([dear, cheap]);
    const both = await list(`search=${encodeURIComponent('وزن')}&max_price=8999`);
    expect(idsOf(both)).toEqual([cheap]);
    expect(both.body.meta.total).toBe(1);
  });

  test('a page of training services without boosts makes one call', async () => {
    const userId = someone();
    await together(() => offer(userId), 5);
    for (const query of ['', '&per_page=2', '&search=cut']) {
      harness.standIns.calls.length = 0;
      await harness.send('GET', `/training-services?user_id=${userId}${query}`);
      expect(harness.standIns.calls).toEqual(['ShowUsers']);
    }
  });
});

describe('boosted first', () => {
  const boost = (id: number, endsInMs: number, level = 1) => ({
    boost_id: id,
    boostable_type: 'training_service' as const,
    boostable_id: id,
    level,
    starts_at: formatTimestamp(harness.clock.now()),
    ends_at: formatTimestamp(new Date(harness.clock.now().getTime() + endsInMs)),
  });

  test('boosted services come first until the boost ends, in pages and by cursor', async () => {
    const userId = someone();
    const ids: number[] = [];
    for (let index = 0; index < 7; index += 1) ids.push(await offer(userId));
    const [first = 0, second = 0, third = 0] = ids;
    const list = (query = '') => harness.send('GET', `/training-services?user_id=${userId}${query}`);
    for (const id of [first, third])
      await harness.publish(boostGranted, { subject: id, version: 1, data: boost(id, DAY_MS) });
    const rest = ids.filter((id) => id !== first && id !== third).toReversed();
    const ordered = [third, first, ...rest];
    await eventually(async () => idsOf(await list())[1] === first);
    expect(idsOf(await list())).toEqual(ordered);
    expect(idsOf(await list('&search=cutting'))).toEqual(ordered);
    const pages = [
      await list('&per_page=3'),
      await list('&per_page=3&page=2'),
      await list('&per_page=3&page=3'),
    ];
    expect(pages.flatMap(idsOf)).toEqual(ordered);
    expect(pages[0]?.body.meta).toMatchObject({ total: 7, last_page: 3, from: 1, to: 3 });
    for (const perPage of [1, 2, 3]) {
      const seen: number[] = [];
      let page = await list(`&per_page=${perPage}`);
      for (;;) {
        seen.push(...idsOf(page));
        if (page.body.meta.next_cursor === null) break;
        page = await list(`&per_page=${perPage}&cursor=${page.body.meta.next_cursor}`);
      }
      expect(seen).toEqual(ordered);
    }
    // An end that arrives before its grant stays in effect.
    await harness.publish(boostEnded, { subject: second, version: 2, data: boost(second, -1_000) });
    await harness.publish(boostEnded, { subject: third, version: 2, data: boost(third, -1_000) });
    await eventually(async () => idsOf(await list())[0] === first);
    await harness.publish(boostGranted, { subject: second, version: 1, data: boost(second, DAY_MS) });
    await harness.publish(boostGranted, {
      subject: ids[3] ?? 0,
      version: 1,
      data: boost(ids[3] ?? 0, 2 * DAY_MS),
    });
    await eventually(async () => idsOf(await list())[0] === ids[3]);
    expect(idsOf(await list()).slice(0, 2)).toEqual([ids[3], first]);
    harness.clock.advance(DAY_MS + 1_000);
    expect(idsOf(await list()).slice(0, 2)).toEqual([ids[3], ids[6]]);
  });
});

test('the boost that ends last determines the level of a training service', async () => {
  const userId = someone();
  const ids: number[] = [];
  for (let index = 0; index < 3; index += 1) ids.push(await offer(userId));
  const [basic = 0, pro = 0, none = 0] = ids;
  const at = (ms: number): string => formatTimestamp(new Date(harness.clock.now().getTime() + ms));
  let version = 0;
  const publishBoost = (boostId: number, id: number, level: number, endsInMs: number) => {
    version += 1;
    const boostable = { boostable_type: 'training_service' as const, boostable_id: id };
    const data = { boost_id: boostId, ...boostable, level, starts_at: at(-DAY_MS), ends_at: at(endsInMs) };
    return harness.publish(endsInMs > 0 ? boostGranted : boostEnded, { subject: boostId, version, data });
  };
  const list = async () => idsOf(await harness.send('GET', `/training-services?user_id=${userId}`));
  // A pro boost that was refunded, then a basic one.
  await publishBoost(80_000 + basic, basic, 2, -1_000);
  await publishBoost(90_000 + basic, basic, 1, DAY_MS);
  await publishBoost(80_000 + pro, pro, 2, DAY_MS);
  await eventually(async () => (await list())[0] === pro && (await list())[1] === basic);
  expect(await list()).toEqual([pro, basic, none]);
});

test('the boosts of a deleted training service are deleted', async () => {
  const userId = someone();
  const [remaining, removed] = [await offer(userId), await offer(userId)];
  const boosts = harness.connection.collection('boosts');
  for (const id of [remaining, removed]) {
    const times = { starts_at: '2026-01-01 00:00:00', ends_at: '2026-02-01 00:00:00' };
    const data = {
      boost_id: 9_000 + id,
      boostable_type: 'training_service' as const,
      boostable_id: id,
      level: 1,
    };
    await harness.publish(boostGranted, { subject: 9_000 + id, version: 1, data: { ...data, ...times } });
    await eventually(async () => (await boosts.countDocuments({ training_service_id: id })) === 1);
  }
  expect((await harness.send('DELETE', `/training-services/${removed}`, { as: caller(userId) })).status).toBe(
    204,
  );
  expect(await boosts.countDocuments({ training_service_id: removed })).toBe(0);
  expect(await boosts.countDocuments({ training_service_id: remaining })).toBe(1);
});

test('the end of a boost is published once, and not for a deleted training service', async () => {
  const userId = someone();
  const [remaining, removed] = [await offer(userId), await offer(userId)];
  const boostOf = (id: number, boostId = 9_500_000 + id) => ({
    boost_id: boostId,
    boostable_type: 'training_service' as const,
    boostable_id: id,
    level: 2,
    starts_at: '2026-01-01 00:00:00',
    ends_at: '2026-02-01 00:00:00',
  });
  expect((await harness.send('DELETE', `/training-services/${removed}`, { as: caller(userId) })).status).toBe(
    204,
  );
  // Events with one subject are handled in order.
  const publishBoost = (definition: typeof boostEnded, version: number, data: ReturnType<typeof boostOf>) =>
    harness.publish(definition, { subject: 9_500_000 + remaining, version, data });
  const published = (boostId: number) =>
    harness.tap.waitFor('content.training_service.boost_ended', {
      matches: ({ subject }) => subject === `boost-${boostId}`,
    });
  await publishBoost(boostGranted, 1, boostOf(remaining));
  await publishBoost(boostEnded, 2, boostOf(removed));
  // Repeated deliveries have no effect, because the version decides.
  for (let each = 0; each < 5; each += 1) await publishBoost(boostEnded, 2, boostOf(remaining));
  // The second one is published after everything that was stored before the first one.
  for (const boostId of [9_600_000 + remaining, 9_700_000 + remaining]) {
    await publishBoost(boostEnded, 2, boostOf(remaining, boostId));
    await published(boostId);
  }
  const { title } = (await harness.send('GET', `/training-services/${remaining}`)).body.data;
  expect((await published(9_500_000 + remaining)).data).toEqual({
    boost_id: 9_500_000 + remaining,
    training_service_id: remaining,
    title,
    seller_user_id: userId,
    level: 2,
    ended_at: '2026-02-01 00:00:00',
  });
  const ended = harness.tap.events
    .filter(({ type }) => type === 'content.training_service.boost_ended')
    .map(({ subject }) => subject);
  for (const [id, times] of [
    [remaining, 1],
    [removed, 0],
  ] as const)
    expect([id, ended.filter((subject) => subject === `boost-${9_500_000 + id}`).length]).toEqual([
      id,
      times,
    ]);
  const boosts = harness.connection.collection('boosts');
  expect(await boosts.countDocuments({ training_service_id: removed })).toBe(0);
});

test('a caller without the permission gets 403 before the body is validated', async () => {
  const answer = await harness.send('POST', '/training-services', { as: caller(someone(), []), body: {} });
  expect(answer.status).toBe(403);
});
