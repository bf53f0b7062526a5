import { MODEL } from '@fitness/contracts/model-names.ts';
import { boostGranted } from '@fitness/proto/events/store-billing.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import type { Send } from '@fitness/shared/testing/harness.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, member, openHarness, operator } from './support.ts';

/** Pages of gyms, with and without a cache of lists, while gyms change in another process. */
const OWNER = member(7);
const OTHER = member(8);
/** Less than half of the gyms that anyone sees. */
const PER_PAGE = 5;

/** A process without a cache, which writes. */
let harness: Harness;
/** Another process, whose cache has what it read before. */
let reader: Send;
beforeAll(async () => {
  harness = await openHarness({ listCacheMib: 0 });
  reader = await harness.replica(LIST_CACHE_MIB);
});
afterAll(() => harness.close());

interface Made {
  id: number;
  owner: number;
  isActive: boolean;
  level: number;
}
const gyms = new Map<number, Made>();

const make = async (owner: UserCaller, isActive: boolean): Promise<Made> => {
  const id = await harness.createGym(owner, { is_active: isActive });
  const made = { id, owner: owner.userId, isActive, level: 0 };
  gyms.set(id, made);
  return made;
};

const viewers = [
  { as: undefined, sees: ({ isActive }: Made) => isActive },
  { as: OWNER, sees: ({ isActive, owner }: Made) => isActive || owner === 7 },
  { as: operator(), sees: () => true },
];

const listed = async (send: Send, path: string, as?: UserCaller) => {
  const { status, body } = await send('GET', path, as === undefined ? {} : { as });
  expect(status).toBe(200);
  return body as {
    data: { id: number; name: string }[];
    links: { next: string | null };
    meta: { total: number; next_cursor: string | null };
  };
};
const idsOf = ({ data }: { data: { id: number }[] }): number[] => data.map(({ id }) => id);

/** Expects that the pages of every viewer, by number and by cursor, add up to what they see, in both processes. */
const expectPages = async (): Promise<void> => {
  for (const send of [harness.send, reader])
    for (const { as, sees } of viewers) {
      const visible = [...gyms.values()].filter(sees);
      const expected = visible.sort((a, b) => b.level - a.level || b.id - a.id).map(({ id }) => id);
      const paged: number[] = [];
      for (let page = Math.ceil(expected.length / PER_PAGE); page >= 1; page -= 1) {
        const answer = await listed(send, `/gyms?per_page=${PER_PAGE}&page=${page}`, as);
        expect(answer.meta.total).toBe(expected.length);
        paged.unshift(...idsOf(answer));
      }
      expect(paged).toEqual(expected);
      const followed: number[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const answer = await listed(send, `/gyms?per_page=${PER_PAGE}${cursor && `&cursor=${cursor}`}`, as);
        followed.push(...idsOf(answer));
        cursor = answer.meta.next_cursor;
      }
      expect(followed).toEqual(expected);
    }
};

const boost = async (made: Made, level: number): Promise<void> => {
  const now = harness.clock.now();
  const data = {
    boost_id: made.id,
    boostable_type: 'gym' as const,
    boostable_id: made.id,
    level,
    starts_at: formatTimestamp(now),
    ends_at: formatTimestamp(new Date(now.getTime() + DAY_MS)),
  };
  await harness.publish(boostGranted, { subject: made.id, data });
  await eventually(async () => {
    const rows = harness.connection.collection<{ _id: number; boostLevel: number }>('gyms');
    return (await rows.findOne({ _id: made.id }))?.boostLevel === level;
  });
  made.level = level;
};

const put = async (id: number, body: object, as: UserCaller = operator()): Promise<void> =>
  expect((await harness.send('PUT', `/gyms/${id}`, { as, body })).status).toBe(200);

test('pages neither lose nor repeat a gym after creations, closings, transfers, deletions and boosts', async () => {
  for (let index = 0; index < 11; index += 1) await make(index % 3 === 0 ? OWNER : OTHER, index % 4 !== 0);
  await expectPages();
  const [first, second, third, fourth, fifth, sixth] = [...gyms.values()];
  if (!first || !second || !third || !fourth || !fifth || !sixth) throw new Error('too few gyms');
  await put(second.id, { is_active: false });
  second.isActive = false;
  await expectPages();
  await put(second.id, { user_id: 7 });
  second.owner = 7;
  await put(first.id, { is_active: true });
  first.isActive = true;
  await expectPages();
  await boost(third, 1);
  await boost(fourth, 2);
  // A boosted inactive gym is listed first only for its owner.
  await boost(fifth, 2);
  await expectPages();
  expect((await harness.send('DELETE', `/gyms/${sixth.id}`, { as: operator() })).status).toBe(204);
  gyms.delete(sixth.id);
  await make(OTHER, true);
  await expectPages();
  harness.clock.advance(DAY_MS + 1);
  for (const made of gyms.values()) made.level = 0;
  await expectPages();
});

test('a process notices more changes than the counters remember', async () => {
  const any = [...gyms.values()].find(({ isActive }) => isActive);
  if (any === undefined) throw new Error('none is active');
  const nameOf = async () =>
    (await listed(reader, '/gyms?per_page=100')).data.find(({ id }) => id === any.id)?.name;
  await put(any.id, { name: 'New' });
  expect(await nameOf()).toBe('New');
  const { connection } = harness;
  await connection
    .collection<{ _id: number }>('gyms')
    .updateOne({ _id: any.id }, { $set: { name: 'Newer' } });
  await connection
    .collection<{ _id: number }>('gym_counters')
    .updateOne({ _id: 0 }, { $inc: { version: 100 } });
  expect(await nameOf()).toBe('Newer');
});

test('another process never shows a gym as it was before a confirmed change, or a closed gym', async () => {
  const { id } = await make(OTHER, true);
  const nameOf = (edition: number): string => (edition === 0 ? 'Gym' : `Edition ${edition}`);
  let confirmed = 0;
  let isWriting = true;
  const read = async () => {
    while (isWriting) {
      const before = confirmed;
      const { data } = await listed(reader, '/gyms');
      const shown = data.find((gym) => gym.id === id);
      // Each edition may have been stored while the list was read. The even ones are closed.
      const possible = Array.from({ length: confirmed + 2 - before }, (_, index) => before + index);
      const isOpen = (edition: number): boolean => edition === 0 || edition % 2 === 1;
      if (shown === undefined) expect(possible.every(isOpen)).toBe(false);
      else expect(possible.filter(isOpen).map(nameOf)).toContain(shown.name);
    }
  };
  const readers = [read(), read()];
  for (let edition = 1; edition <= 10; edition += 1) {
    await put(id, { name: nameOf(edition), is_active: edition % 2 === 1 });
    confirmed = edition;
  }
  isWriting = false;
  await Promise.all(readers);
  expect(idsOf(await listed(reader, '/gyms?per_page=100'))).not.toContain(id);
  await put(id, { is_active: true });
  expect(idsOf(await listed(reader, '/gyms?search=edition%2010'))).toEqual([id]);
});

test('another process shows ratings, crowds, hours and files at once', async () => {
  const { id } = await make(OTHER, true);
  const shown = async () =>
    (await reader('GET', '/gyms')).body.data.find((gym: { id: number }) => gym.id === id);
  expect(await shown()).toMatchObject({ rating_count: 0, crowd: null, working_periods: [], media: [] });
  const as = OWNER;
  expect((await harness.send('PUT', `/gyms/${id}/rating`, { as, body: { score: 4 } })).status).toBe(200);
  expect(await shown()).toMatchObject({ rating_count: 1, rating_average: 4 });
  await put(id, { show_crowd: true });
  const crowd = { current: 5, capacity: 10 };
  expect((await harness.send('PUT', `/gyms/${id}/crowd`, { as: OTHER, body: crowd })).status).toBe(200);
  expect(await shown()).toMatchObject({ crowd: { current: 5 } });
  const periods = { working_periods: [{ weekday: 1, opens_at: '08:00', closes_at: '09:00' }] };
  const answer = await harness.send('PUT', `/gyms/${id}/working-periods`, { as: OTHER, body: periods });
  expect(answer.status).toBe(200);
  expect((await shown()).working_periods).toHaveLength(1);
  const file = {
    id: 1,
    filename: 'a.png',
    mime_type: 'image/png',
    size: 1,
    created_at: '2026-01-01 00:00:00',
  };
  const target = { attachable_type: MODEL.gym, attachable_id: id };
  await harness.mediaCopies.call('Save', { target, version: 1, files: [file] });
  expect((await shown()).media).toHaveLength(1);
});
