import type { Send } from '@fitness/shared/testing/harness.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, member, openHarness, operator, untilAccepted } from './support.ts';

let harness: Harness;
/** Three replicas, because the queue of a process does not order the writes of another one. */
let replicas: Send[];
beforeAll(async () => {
  harness = await openHarness();
  replicas = [harness.send, await harness.replica(), await harness.replica()];
});
afterAll(() => harness.close());

type Work = (send: Send, index: number) => ReturnType<Send>;

/** The statuses of `times` concurrent calls, spread over the replicas. */
const statusesOf = async (times: number, work: Work): Promise<number[]> => {
  const answers = await Promise.all(
    Array.from({ length: times }, (_, index) =>
      untilAccepted(() => work(replicas[index % replicas.length] ?? harness.send, index)),
    ),
  );
  return answers.map(({ status }) => status);
};
const read = async (id: number) => (await harness.send('GET', `/gyms/${id}`, { as: operator() })).body.gym;
const put =
  (id: number, as = member(10)) =>
  (send: Send, body: unknown, part = '') =>
    send('PUT', `/gyms/${id}${part}`, { as, body });
const stored = (id: number) =>
  harness.connection.collection<{ _id: number; version: number }>('gyms').findOne({ _id: id });
const eventsOf = (id: number, type = 'gyms.gym.') =>
  harness.tap.events
    .filter((event) => event.type.startsWith(type) && event.subject === String(id))
    .toSorted((a, b) => a.aggregateversion - b.aggregateversion);
/** Waits until every event of the gym so far has been published. */
const settled = async (id: number) => {
  const version = (await stored(id))?.version;
  await eventually(() => eventsOf(id, 'gyms.gym.changed').at(-1)?.aggregateversion === version);
};
const count = (statuses: readonly number[], status: number): number =>
  statuses.filter((one) => one === status).length;

describe('concurrent writes of one gym on three replicas', () => {
  test('updates of all fields, working periods, the crowd and ratings do not undo each other', async () => {
    const id = await harness.createGym(member(10));
    const week = [{ weekday: 1, opens_at: '08:00', closes_at: '12:00' }];
    const writes: [unknown, string?][] = [
      [{ name: 'N' }],
      [{ address: 'A' }],
      [{ description: 'D' }],
      [{ location_lat: 1 }],
      [{ location_lng: 2 }],
      [{ city_id: 3 }],
      [{ major_ids: '4' }],
      [{ show_crowd: true }],
      [{ working_periods: week }, '/working-periods'],
      [{ current: 4, capacity: 5 }, '/crowd'],
    ];
    const statuses = await statusesOf(30, (send, index) => {
      if (index < 10) return put(id, member(100 + index))(send, { score: 1 + (index % 2) }, '/rating');
      const [body, part] = writes[index % writes.length] ?? [];
      return put(id)(send, body, part);
    });
    expect(statuses).toEqual(Array(30).fill(200));
    expect(await read(id)).toMatchObject({
      name: 'N',
      address: 'A',
      description: 'D',
      location_lat: 1,
      location_lng: 2,
      city: { id: 3 },
      majors: [{ id: 4 }],
      crowd: { current: 4, capacity: 5, level: 'high' },
      working_periods: week,
      rating_count: 10,
      rating_average: 1.5,
    });
    // Working periods, crowd and ratings publish no event and keep the version.
    await settled(id);
    const versions = eventsOf(id).map(({ aggregateversion }) => aggregateversion);
    expect(versions).toEqual(Array.from({ length: 17 }, (_, index) => index + 1));
    const idsFor = async (query: string): Promise<number[]> =>
      (await harness.send('GET', `/gyms?${query}`)).body.data.map((gym: { id: number }) => gym.id);
    // The derived fields of the lists agree with the resource.
    expect(await idsFor('near=1,2&per_page=1')).toEqual([id]);
    expect(await idsFor('city_id=3&major_ids=4&search=n')).toEqual([id]);
  });

  test('no change of the previous owner is stored after a transfer', async () => {
    const id = await harness.createGym(member(10));
    const statuses = await statusesOf(25, (send, index) =>
      index === 12 ? put(id, operator())(send, { user_id: 20 }) : put(id)(send, { name: `Name ${index}` }),
    );
    expect(statuses[12]).toBe(200);
    expect(new Set(statuses)).toEqual(new Set(statuses.includes(403) ? [200, 403] : [200]));
    expect(await read(id)).toMatchObject({ user_id: 20 });
    await settled(id);
    const owners = eventsOf(id, 'gyms.gym.changed').map(({ data }) => (data as { user_id: number }).user_id);
    expect(owners).toEqual([...Array(count(statuses, 200)).fill(10), 20]);
    expect((await put(id)(harness.send, { name: 'late' })).status).toBe(403);
  });

  test('either a transfer or a deletion by the previous owner succeeds, never both', async () => {
    const ids: number[] = [];
    for (let index = 0; index < 10; index += 1) ids.push(await harness.createGym(member(10)));
    const statuses = await statusesOf(20, (send, index) => {
      const id = ids[index >> 1] ?? 0;
      return (index + (index >> 1)) % 2 === 0
        ? put(id, operator())(send, { user_id: 21 })
        : send('DELETE', `/gyms/${id}`, { as: member(10) });
    });
    for (const [index, id] of ids.entries()) {
      const both = statuses.slice(index * 2, index * 2 + 2).toSorted((a, b) => a - b);
      const isDeleted = (await stored(id)) === null;
      expect(both).toEqual(isDeleted ? [204, 404] : [200, 403]);
      if (!isDeleted) expect(await read(id)).toMatchObject({ user_id: 21 });
    }
    const { applies, extras_json } = await harness.blockers.call('Evaluate', {
      user_id: 21,
      code: 'gym_ownership',
    });
    const transferred = count(statuses, 200);
    const extras = transferred > 0 ? { count: transferred } : {};
    expect([applies, JSON.parse(extras_json)]).toEqual([transferred > 0, extras]);
  });

  test('a deletion during changes and ratings leaves nothing of the gym, and publishes the last event', async () => {
    const id = await harness.createGym(member(10));
    const statuses = await statusesOf(21, (send, index) => {
      if (index === 10) return send('DELETE', `/gyms/${id}`, { as: member(10) });
      if (index % 3 === 0) return put(id, member(200 + index))(send, { score: 5 }, '/rating');
      if (index % 3 === 1) return put(id)(send, { current: 1, capacity: 2 }, '/crowd');
      return put(id)(send, { name: `Name ${index}`, is_active: index % 2 === 0 });
    });
    expect(statuses[10]).toBe(204);
    expect(statuses.filter((status) => ![200, 204, 404].includes(status))).toEqual([]);
    expect(await stored(id)).toBeNull();
    expect(await harness.connection.collection('gym_ratings').countDocuments({ gymId: id })).toBe(0);
    const deleted = await harness.tap.waitFor('gyms.gym.deleted', {
      matches: (event) => event.subject === String(id),
    });
    expect(eventsOf(id).at(-1)).toEqual(deleted);
    const total = (await harness.send('GET', '/gyms?per_page=1', { as: operator() })).body.meta.total;
    expect(total).toBe(await harness.connection.collection('gyms').countDocuments({}));
  });
});

describe('concurrent reviews and clearings of a license', () => {
  test('a cleared document keeps no review, and its clearing is published once', async () => {
    const id = await harness.createGym(member(10));
    await harness.gyms.call('AttachLicense', { gym_id: id, media_id: 700, filename: 'license.pdf' });
    harness.standIns.calls.length = 0;
    const statuses = await statusesOf(21, (send, index) =>
      index % 3 === 0
        ? put(id)(send, { gym_license_image: null })
        : put(id, operator())(send, { gym_license_approved: index % 3 === 1 }),
    );
    expect(statuses).toEqual(Array(21).fill(200));
    const license = ((await stored(id)) as unknown as { license: Record<string, unknown> }).license;
    expect(license).toMatchObject({ image: null, mediaId: null, newestMediaId: 700 });
    await put(id, operator())(harness.send, { description: 'settled' });
    await settled(id);
    expect(eventsOf(id, 'gyms.gym.license_cleared').map(({ data }) => data)).toEqual([
      { gym_id: id, media_id: 700 },
    ]);
    expect(harness.standIns.calls.filter(({ method }) => method === 'DeleteByPurpose')).toHaveLength(1);
  });

  test('a concurrent upload leaves a consistent license', async () => {
    for (let round = 0; round < 3; round += 1) {
      const id = await harness.createGym(member(10));
      const first = 1_000 + round * 100;
      await harness.gyms.call('AttachLicense', { gym_id: id, media_id: first, filename: 'first.pdf' });
      await Promise.all([
        ...[1, 2, 3].map((next) =>
          harness.gyms.call('AttachLicense', { gym_id: id, media_id: first + next, filename: `${next}.pdf` }),
        ),
        statusesOf(10, (send, index) =>
          index % 2 === 0
            ? put(id)(send, { gym_license_image: null })
            : put(id, operator())(send, { gym_license_approved: false, gym_license_rejection_reason: 'R' }),
        ).then((statuses) => expect(statuses).toEqual(Array(10).fill(200))),
      ]);
      const { license } = (await stored(id)) as unknown as {
        license: { mediaId: number | null; image: string | null; approved: boolean | null } & Record<
          string,
          unknown
        >;
      };
      expect(license.newestMediaId).toBe(first + 3);
      // The license has the newest document or none, never an older one.
      expect([null, first + 3]).toContain(license.mediaId);
      expect(license.image).toBe(license.mediaId === null ? null : '3.pdf');
      expect(license.rejectionReason).toBe(license.approved === false ? 'R' : null);
    }
  });
});

test('a review that names its document never applies to a concurrent replacement', async () => {
  for (let round = 0; round < 8; round += 1) {
    const id = await harness.createGym(member(10));
    const first = 5_000 + round * 10;
    await harness.gyms.call('AttachLicense', { gym_id: id, media_id: first, filename: 'seen.pdf' });
    const named = { gym_license_approved: true, gym_license_media_id: first };
    const [statuses] = await Promise.all([
      statusesOf(3, (send) => put(id, operator())(send, named)),
      harness.gyms.call('AttachLicense', { gym_id: id, media_id: first + 1, filename: 'unseen.pdf' }),
    ]);
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(await read(id)).toMatchObject({ gym_license_image: 'unseen.pdf', gym_license_approved: null });
    expect((await put(id, operator())(harness.send, named)).status).toBe(409);
  }
});
