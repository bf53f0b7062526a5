import { boostGranted } from '@fitness/proto/events/store-billing.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { sleep } from '@fitness/shared/kernel/timing.ts';
import { caller, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, mediaCopy, openHarness } from './support.ts';

/** Pages of training services, with and without a cache of lists, while they change in another process. */

const SERVICE = 'App\\Models\\TrainingServices\\TrainingService';
const SELLERS = [7, 8, 9];
/** Less than half of the training services that anyone sees. */
const PER_PAGE = 5;
const OPERATOR = caller(99, ['posts.view_all', 'users.view_all', 'training_services.update_any']);

/** A process without a cache, which writes. */
let harness: Harness;
/** Another process, whose cache has what it read before. */
let reader: Send;
beforeAll(async () => {
  harness = await openHarness({ listCacheMib: 0 });
  reader = (await harness.replica({}, LIST_CACHE_MIB)).send;
});
afterAll(() => harness.close());

interface Offered {
  id: number;
  seller: number;
  isActive: boolean;
  level: number;
}
const offers = new Map<number, Offered>();

const offer = async (seller: number, isActive: boolean): Promise<Offered> => {
  const body = { title: 'Plan', description: '', price: 10, duration_days: 1, is_active: isActive };
  const answer = await harness.send('POST', '/training-services', { as: caller(seller), body });
  expect(answer.status).toBe(201);
  const offered = { id: answer.body.data.id, seller, isActive, level: 0 };
  offers.set(offered.id, offered);
  return offered;
};

const viewers = [
  { as: undefined, sees: ({ isActive }: Offered) => isActive },
  { as: caller(7), sees: ({ isActive, seller }: Offered) => isActive || seller === 7 },
  { as: OPERATOR, sees: () => true },
];

interface Page {
  data: { id: number; title: string; media: unknown[] }[];
  meta: { total: number; next_cursor: string | null };
}

const listed = async (send: Send, query = '', as?: UserCaller): Promise<Page> => {
  const { status, body } = await send('GET', `/training-services?${query}`, as === undefined ? {} : { as });
  expect(status).toBe(200);
  return body;
};
const idsOf = ({ data }: Page): number[] => data.map(({ id }) => id);

/** Expects the pages of every viewer, by number and by cursor, to add up to what they see, in both processes. */
const expectPages = async (): Promise<void> => {
  for (const send of [harness.send, reader])
    for (const { as, sees } of viewers) {
      const visible = [...offers.values()].filter(sees);
      const expected = visible.sort((a, b) => b.level - a.level || b.id - a.id).map(({ id }) => id);
      const paged: number[] = [];
      for (let page = Math.ceil(expected.length / PER_PAGE); page >= 1; page -= 1) {
        const answer = await listed(send, `per_page=${PER_PAGE}&page=${page}`, as);
        expect(answer.meta.total).toBe(expected.length);
        paged.unshift(...idsOf(answer));
      }
      expect(paged).toEqual(expected);
      const followed: number[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const answer = await listed(send, `per_page=${PER_PAGE}${cursor && `&cursor=${cursor}`}`, as);
        followed.push(...idsOf(answer));
        cursor = answer.meta.next_cursor;
      }
      expect(followed).toEqual(expected);
    }
};

const boost = async (offered: Offered, level: number): Promise<void> => {
  const now = harness.clock.now().getTime();
  const data = {
    boost_id: offered.id,
    boostable_type: 'training_service' as const,
    boostable_id: offered.id,
    level,
    starts_at: formatTimestamp(new Date(now)),
    ends_at: formatTimestamp(new Date(now + DAY_MS)),
  };
  await harness.publish(boostGranted, { subject: offered.id, version: 1, data });
  const rows = harness.connection.collection<{ _id: number; boost_level: number }>('training_services');
  await eventually(async () => (await rows.findOne({ _id: offered.id }))?.boost_level === level);
  offered.level = level;
};

const put = async ({ id, seller }: Offered, body: object): Promise<void> =>
  expect((await harness.send('PUT', `/training-services/${id}`, { as: caller(seller), body })).status).toBe(
    200,
  );

test('no page loses or repeats a training service after creations, changes, deletions and boosts', async () => {
  for (let index = 0; index < 11; index += 1) await offer(SELLERS[index % 3] ?? 7, index % 4 !== 0);
  await expectPages();
  const [first, second, third, fourth, fifth, sixth] = [...offers.values()];
  if (!first || !second || !third || !fourth || !fifth || !sixth) throw new Error('too few');
  for (const offered of [first, second]) {
    await put(offered, { is_active: !offered.isActive });
    offered.isActive = !offered.isActive;
    await expectPages();
  }
  await boost(third, 1);
  await boost(fourth, 2);
  // A boosted inactive one is listed first for its seller alone.
  await boost(fifth, 2);
  await expectPages();
  const as = caller(sixth.seller);
  expect((await harness.send('DELETE', `/training-services/${sixth.id}`, { as })).status).toBe(204);
  offers.delete(sixth.id);
  await offer(8, true);
  await expectPages();
  harness.clock.advance(DAY_MS + 1_000);
  for (const offered of offers.values()) offered.level = 0;
  await expectPages();
});

test('a process sees more changes than the counters remember', async () => {
  const any = [...offers.values()].find(({ isActive }) => isActive);
  if (any === undefined) throw new Error('none is active');
  const titleOf = async () =>
    (await listed(reader, 'per_page=100')).data.find(({ id }) => id === any.id)?.title;
  await put(any, { title: 'New' });
  expect(await titleOf()).toBe('New');
  const { connection } = harness;
  const changed = { $set: { title: 'Newer' } };
  await connection.collection<{ _id: number }>('training_services').updateOne({ _id: any.id }, changed);
  await connection
    .collection<{ _id: string }>('counters')
    .updateOne({ _id: 'training_services' }, { $inc: { version: 100 } });
  expect(await titleOf()).toBe('Newer');
});

test('no reader of another process sees a training service that is outdated or inactive', async () => {
  const offered = await offer(7, true);
  const nameOf = (edition: number): string => (edition === 0 ? 'Plan' : `Version ${edition}`);
  let confirmed = 0;
  let isWriting = true;
  const read = async () => {
    while (isWriting) {
      const before = confirmed;
      const shown = (await listed(reader)).data.find(({ id }) => id === offered.id);
      // Each may have been stored while the list was read; the even ones are inactive.
      const possible = Array.from({ length: confirmed + 2 - before }, (_, index) => before + index);
      const isShown = (edition: number): boolean => edition === 0 || edition % 2 === 1;
      if (shown === undefined) expect(possible.every(isShown)).toBe(false);
      else expect(possible.filter(isShown).map(nameOf)).toContain(shown.title);
    }
  };
  const readers = [read(), read()];
  for (let edition = 1; edition <= 10; edition += 1) {
    await put(offered, { title: nameOf(edition), is_active: edition % 2 === 1 });
    confirmed = edition;
  }
  isWriting = false;
  await Promise.all(readers);
  offered.isActive = false;
  await expectPages();
  await put(offered, { is_active: true });
  offered.isActive = true;
  expect(idsOf(await listed(reader, 'search=version%2010'))).toEqual([offered.id]);
  await harness.saveMedia(mediaCopy(SERVICE, offered.id, ['new.png'], 9));
  expect((await listed(reader)).data.find(({ id }) => id === offered.id)?.media).toHaveLength(1);
});

test('a seller is hidden as soon as their deletion is scheduled, even during concurrent reads', async () => {
  const { id } = await offer(9, true);
  let isReading = true;
  const others = Array.from({ length: 2 }, async () => {
    while (isReading) await listed(reader, 'per_page=100');
  });
  for (let round = 0; round < 3; round += 1) {
    harness.standIns.pending.add(9);
    const [guest, operator] = await Promise.all([
      listed(reader, 'per_page=100'),
      listed(reader, 'per_page=100', OPERATOR),
    ]);
    expect(idsOf(guest)).not.toContain(id);
    expect(idsOf(operator)).toContain(id);
    harness.standIns.pending.delete(9);
    expect(idsOf(await listed(reader, 'per_page=100'))).toContain(id);
  }
  isReading = false;
  await Promise.all(others);
});

test('concurrent pages share their calls to identity', async () => {
  const { calls, before } = harness.standIns;
  const shown = () => calls.filter((method) => method === 'ShowUsers').length;
  calls.length = 0;
  // The first call returns once all others are waiting.
  before.set('ShowUsers', () => sleep(shown() === 1 ? 1_000 : 0));
  await Promise.all(Array.from({ length: 20 }, () => listed(reader)));
  before.delete('ShowUsers');
  expect(shown()).toBe(2);
});
