import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { appCaller, restrictedCaller, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, holder, member, openHarness, operator, untilAccepted } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const put = (path: string, as: UserCaller | undefined, body: unknown) =>
  untilAccepted(() => harness.send('PUT', path, as === undefined ? { body } : { as, body }));
const gymOf = async (id: number, as = operator()) =>
  (await harness.send('GET', `/gyms/${id}`, { as })).body.gym;

describe('PUT /gyms/{id}/rating', () => {
  test('a second rating replaces the score of the user', async () => {
    const id = await harness.createGym(member(10));
    const first = await put(`/gyms/${id}/rating`, member(11), { score: 5 });
    expect(first.body.gym).toMatchObject({ rating_count: 1, rating_average: 5 });
    await put(`/gyms/${id}/rating`, member(12), { score: 2 });
    const again = await put(`/gyms/${id}/rating`, member(11), { score: 3 });
    expect(again.status).toBe(200);
    expect(again.body.gym).toMatchObject({ rating_count: 2, rating_average: 2.5 });
  });

  test.each([{}, { score: 0 }, { score: 6 }, { score: 3.5 }, { score: '5' }, { score: null }])(
    'a rating is rejected with 422 under score for %j',
    async (body) => {
      const id = await harness.createGym(member(10));
      const answer = await put(`/gyms/${id}/rating`, member(11), body);
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['score']]);
    },
  );

  test('a rating returns 401 for a guest, and 404 for a gym that is missing or hidden from the user', async () => {
    const id = await harness.createGym(member(10), { is_active: false });
    expect((await put(`/gyms/${id}/rating`, undefined, { score: 5 })).status).toBe(401);
    expect((await put(`/gyms/${id}/rating`, member(11), { score: 5 })).status).toBe(404);
    expect((await put('/gyms/987654321/rating', member(11), { score: 5 })).status).toBe(404);
  });

  test('a rating by the owner gets 403 whatever their permissions, and does not change the average', async () => {
    const id = await harness.createGym(operator(10), { is_active: false });
    expect((await put(`/gyms/${id}/rating`, operator(10), { score: 5 })).status).toBe(403);
    expect((await put(`/gyms/${id}/rating`, operator(), { score: 2 })).status).toBe(200);
    expect(await gymOf(id)).toMatchObject({ rating_count: 1, rating_average: 2 });
    await put(`/gyms/${id}`, operator(), { user_id: 12 });
    expect((await put(`/gyms/${id}/rating`, operator(10), { score: 4 })).status).toBe(200);
    expect((await put(`/gyms/${id}/rating`, operator(12), { score: 5 })).status).toBe(403);
    expect(await gymOf(id)).toMatchObject({ rating_count: 2, rating_average: 3 });
  });

  test('a rating by a restricted or OAuth token is rejected with 403 whatever its permissions', async () => {
    const id = await harness.createGym(member(10));
    for (const token of [restrictedCaller, appCaller]) {
      const as = token(13, ...member(13).permissions);
      expect((await put(`/gyms/${id}/rating`, as, { score: 5 })).status).toBe(403);
    }
    expect(await gymOf(id)).toMatchObject({ rating_count: 0 });
  });

  test('the average of concurrent ratings is exact, even of more than are stored together', async () => {
    const id = await harness.createGym(member(10));
    const scores = Array.from({ length: 40 }, (_, index) => 1 + ((index * 7) % 5));
    const answers = await Promise.all(
      scores.map((score, index) => put(`/gyms/${id}/rating`, member(100 + index), { score })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(40).fill(200));
    const sum = scores.reduce((total, score) => total + score, 0);
    expect(await gymOf(id)).toMatchObject({ rating_count: 40, rating_average: sum / 40 });
  });

  describe('on four replicas', () => {
    let replicas: Send[];
    beforeAll(async () => {
      replicas = [harness.send, ...(await Promise.all([1, 2, 3].map(() => harness.replica())))];
    });
    /** The concurrent ratings of one user go to different replicas, so only the database orders them. */
    const rate = (id: number, user: number, index: number) => {
      const send = replicas[index % replicas.length] ?? harness.send;
      const body = { score: 1 + (index % 5) };
      return untilAccepted(() => send('PUT', `/gyms/${id}/rating`, { as: member(user), body }));
    };

    test('twenty users who rate twice have one rating each, and the average is exact', async () => {
      const id = await harness.createGym(member(10));
      const users = Array.from({ length: 20 }, (_, index) => 100 + index);
      const answers = await Promise.all(
        [0, 1].flatMap((round) => users.map((user, index) => rate(id, user, index * 7 + round))),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
      const ratings = await harness.connection.collection('gym_ratings').find({ gymId: id }).toArray();
      expect(ratings.map(({ userId }) => userId).toSorted()).toEqual(users);
      const sum = ratings.reduce((total, { score }) => total + Number(score), 0);
      expect(await gymOf(id)).toMatchObject({ rating_count: 20, rating_average: sum / 20 });
    });

    test('twenty concurrent ratings by one user are one rating', async () => {
      const id = await harness.createGym(member(10));
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => rate(id, 11, index)));
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
      const ratings = await harness.connection.collection('gym_ratings').find({ gymId: id }).toArray();
      expect(ratings).toHaveLength(1);
      expect(await gymOf(id)).toMatchObject({ rating_count: 1, rating_average: ratings[0]?.score });
    });
  });

  test('concurrent ratings and updates do not undo each other', async () => {
    const id = await harness.createGym(member(10));
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? put(`/gyms/${id}/rating`, member(100 + index), { score: 4 })
          : put(`/gyms/${id}`, member(10), { name: `Name ${index}`, description: 'x'.repeat(index) }),
      ),
    );
    expect(await gymOf(id)).toMatchObject({
      rating_count: 10,
      rating_average: 4,
      name: expect.stringMatching(/^Name /),
    });
  });
});

describe('PUT /gyms/{id}/working-periods', () => {
  const period = { weekday: 0, opens_at: '08:00', closes_at: '12:00' };

  test('working periods are stored in weekly order, and the status follows the time of Tehran', async () => {
    const id = await harness.createGym(member(20));
    // The clock is at Thursday, 2026-01-15 10:00 UTC, which is 13:30 in Tehran.
    const periods = [
      { weekday: 5, opens_at: '22:00', closes_at: '24:00' },
      { weekday: 5, opens_at: '09:00', closes_at: '14:00' },
      period,
    ];
    const answer = await put(`/gyms/${id}/working-periods`, member(20), { working_periods: periods });
    expect(answer.status).toBe(200);
    expect(answer.body.gym.working_periods).toEqual([periods[2], periods[1], periods[0]]);
    expect(answer.body.gym.working_status).toEqual({ is_open: true, changes_at: '2026-01-15 10:30:00' });
  });

  test('a gym without periods has no status', async () => {
    const id = await harness.createGym(member(20));
    await put(`/gyms/${id}/working-periods`, member(20), { working_periods: [period] });
    const { body } = await put(`/gyms/${id}/working-periods`, member(20), { working_periods: [] });
    expect([body.gym.working_periods, body.gym.working_status]).toEqual([[], null]);
  });

  test.each<[string, unknown]>([
    ['working_periods', {}],
    ['working_periods', { working_periods: null }],
    ['working_periods', { working_periods: Array(51).fill(period) }],
    ['working_periods', { working_periods: [period, { weekday: 0, opens_at: '11:59', closes_at: '13:00' }] }],
    ['working_periods.0.weekday', { working_periods: [{ ...period, weekday: 7 }] }],
    ['working_periods.0.opens_at', { working_periods: [{ ...period, opens_at: '24:00' }] }],
    ['working_periods.0.closes_at', { working_periods: [{ ...period, closes_at: '9:00' }] }],
  ])('working periods are rejected with 422 under %s for %j', async (field, body) => {
    const id = await harness.createGym(member(20));
    const answer = await put(`/gyms/${id}/working-periods`, member(20), body);
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [field]]);
  });

  test('working periods need the same permissions as an update', async () => {
    const id = await harness.createGym(member(20));
    const body = { working_periods: [] };
    expect((await put(`/gyms/${id}/working-periods`, undefined, body)).status).toBe(401);
    expect((await put(`/gyms/${id}/working-periods`, member(21), body)).status).toBe(403);
    expect((await put(`/gyms/${id}/working-periods`, holder(20, 'posts.view'), body)).status).toBe(403);
    expect((await put('/gyms/987654321/working-periods', member(20), body)).status).toBe(404);
    expect((await put(`/gyms/${id}/working-periods`, operator(), body)).status).toBe(200);
  });
});

describe('PUT /gyms/{id}/crowd', () => {
  test('the crowd is shown while show_crowd is true, and kept while it is not', async () => {
    const id = await harness.createGym(member(30));
    const hidden = await put(`/gyms/${id}/crowd`, member(30), { current: 30, capacity: 50 });
    expect([hidden.status, hidden.body.gym.crowd]).toEqual([200, null]);
    await put(`/gyms/${id}`, member(30), { show_crowd: true });
    expect((await gymOf(id, member(31))).crowd).toEqual({ current: 30, capacity: 50, level: 'medium' });
    await put(`/gyms/${id}/crowd`, member(30), { current: 50 });
    expect((await gymOf(id)).crowd).toEqual({ current: 50, capacity: 50, level: 'full' });
    await put(`/gyms/${id}`, member(30), { show_crowd: null });
    expect((await gymOf(id)).crowd).toBeNull();
  });

  test.each<[string, unknown]>([
    ['current', { capacity: 5 }],
    ['current', { current: -1, capacity: 5 }],
    ['current', { current: 1.5, capacity: 5 }],
    ['capacity', { current: 1, capacity: 0 }],
    ['capacity', { current: 1 }],
  ])('an update of the crowd is rejected with 422 under %s for %j', async (field, body) => {
    const id = await harness.createGym(member(30));
    const answer = await put(`/gyms/${id}/crowd`, member(30), body);
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [field]]);
  });

  test('the crowd needs the same permissions as an update', async () => {
    const id = await harness.createGym(member(30));
    const body = { current: 1, capacity: 2 };
    expect((await put(`/gyms/${id}/crowd`, undefined, body)).status).toBe(401);
    expect((await put(`/gyms/${id}/crowd`, member(31), body)).status).toBe(403);
    expect((await put('/gyms/987654321/crowd', member(30), body)).status).toBe(404);
  });
});

describe('DELETE /gyms/{id}', () => {
  test('a deletion removes the gym with its ratings, and publishes the next version', async () => {
    const id = await harness.createGym(member(40));
    await put(`/gyms/${id}/rating`, member(41), { score: 5 });
    const answer = await harness.send('DELETE', `/gyms/${id}`, { as: member(40) });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await harness.send('GET', `/gyms/${id}`, { as: operator() })).status).toBe(404);
    expect((await harness.send('DELETE', `/gyms/${id}`, { as: member(40) })).status).toBe(404);
    expect(await harness.connection.collection('gym_ratings').countDocuments({ gymId: id })).toBe(0);
    const deleted = await harness.tap.waitFor('gyms.gym.deleted', {
      matches: (event) => event.subject === String(id),
    });
    expect([deleted.data, deleted.aggregateversion]).toEqual([{ gym_id: id }, 2]);
  });

  test('a deletion is refused to guests and other members, and allowed with gyms.update_any', async () => {
    const id = await harness.createGym(member(40));
    const inactive = await harness.createGym(member(40), { is_active: false });
    expect((await harness.send('DELETE', `/gyms/${id}`)).status).toBe(401);
    expect((await harness.send('DELETE', `/gyms/${id}`, { as: member(41) })).status).toBe(403);
    expect((await harness.send('DELETE', `/gyms/${inactive}`, { as: member(41) })).status).toBe(404);
    expect(
      (await harness.send('DELETE', `/gyms/${inactive}`, { as: holder(42, 'gyms.update_any') })).status,
    ).toBe(204);
  });

  test('one of twenty concurrent deletions succeeds, and one event is published', async () => {
    const id = await harness.createGym(member(40));
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => harness.send('DELETE', `/gyms/${id}`, { as: member(40) })),
    );
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 204)).toHaveLength(1);
    expect(statuses.filter((status) => status === 404)).toHaveLength(19);
    const later = await harness.createGym(member(40));
    await harness.send('DELETE', `/gyms/${later}`, { as: member(40) });
    await harness.tap.waitFor('gyms.gym.deleted', { matches: (event) => event.subject === String(later) });
    expect(
      harness.tap.events.filter((event) => event.type === 'gyms.gym.deleted' && event.subject === String(id)),
    ).toHaveLength(1);
  });
});
