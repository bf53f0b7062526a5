import { boostGranted } from '@fitness/proto/events/store-billing.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { caller, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, openHarness } from './support.ts';

/**
 * Every combination of viewer and query, compared with the visibility rule applied to each training service, in a process with a
 * cache of lists and in one without.
 */

interface Offered {
  id: number;
  seller: number;
  isActive: boolean;
  price: number;
  title: string;
  /** 0: not boosted. */
  level: number;
}

const SELLERS = [11, 12, 13];
/** A seller whose account has a scheduled deletion. */
const LEAVING = 13;

let harness: Harness;
let processes: [name: string, send: Send][];
const offered: Offered[] = [];

const offer = async (seller: number, isActive: boolean, price: number, title: string): Promise<void> => {
  const as = caller(seller);
  const body = { title, description: '-', price, duration_days: 1, is_active: isActive };
  // A third of them get their values from an update.
  const isChanged = offered.length % 3 === 0;
  const other = { ...body, title: 'Other', price: 1_000, is_active: !isActive };
  const answer = await harness.send('POST', '/training-services', { as, body: isChanged ? other : body });
  expect(answer.status).toBe(201);
  const level = [2, 0, 0, 1, 0][offered.length % 5] ?? 0;
  const { id } = answer.body.data;
  if (isChanged) {
    const { title: _, ...first } = body;
    const path = `/training-services/${id}`;
    expect((await harness.send('PUT', path, { as, body: first })).status).toBe(200);
    expect((await harness.send('PUT', path, { as, body: { title } })).status).toBe(200);
  }
  offered.push({ id, seller, isActive, price, title, level });
  if (level === 0) return;
  const now = harness.clock.now();
  await harness.publish(boostGranted, {
    subject: id,
    version: 1,
    data: {
      boost_id: id,
      boostable_type: 'training_service',
      boostable_id: id,
      level,
      starts_at: formatTimestamp(now),
      ends_at: formatTimestamp(new Date(now.getTime() + DAY_MS)),
    },
  });
};

beforeAll(async () => {
  harness = await openHarness({ listCacheMib: 0 });
  processes = [
    ['without a cache', harness.send],
    ['with a cache', (await harness.replica({}, LIST_CACHE_MIB)).send],
  ];
  for (const seller of SELLERS)
    for (const isActive of [true, false])
      for (const price of [100, 200, 300])
        for (const title of ['Alpha', 'Beta']) await offer(seller, isActive, price, title);
  const boosted = { boosted_until: { $gt: harness.clock.now() } };
  const boostedCount = offered.filter(({ level }) => level > 0).length;
  await eventually(
    async () =>
      (await harness.connection.collection('training_services').countDocuments(boosted)) === boostedCount,
  );
  harness.standIns.pending.add(LEAVING);
});
afterAll(() => harness.close());

interface Query {
  user_id?: number | undefined;
  min_price?: number | undefined;
  max_price?: number | undefined;
  search?: string | undefined;
}

const queries = [undefined, ...SELLERS].flatMap((user_id) =>
  [undefined, 200].flatMap((min_price) =>
    [undefined, 200].flatMap((max_price) =>
      [undefined, 'alpha'].map((search): Query => ({ user_id, min_price, max_price, search })),
    ),
  ),
);

const pathOf = (query: Query): string => {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return `/training-services?${new URLSearchParams(pairs)}`;
};

const matches = (
  { user_id, min_price = 0, max_price = 1e9, search = '' }: Query,
  service: Offered,
): boolean =>
  (user_id === undefined || service.seller === user_id) &&
  service.price >= min_price &&
  service.price <= max_price &&
  service.title.toLowerCase().includes(search);

test.each([
  ['a guest', undefined, []],
  ['a seller', 11, []],
  ['the seller with a scheduled deletion', LEAVING, []],
  ['a holder of posts.view_all', 1, ['posts.view_all']],
  ['a holder of users.view_all', 2, ['users.view_all']],
  ['a holder of both', 3, ['posts.view_all', 'users.view_all']],
] as const)(
  '%s sees what the rule allows, boosted first, pro before basic, for every query',
  async (_name, viewer, permissions) => {
    const can = (permission: string): boolean => (permissions as readonly string[]).includes(permission);
    const as = viewer === undefined ? GUEST : caller(viewer, permissions);
    for (const query of queries) {
      const path = pathOf(query);
      const expected = offered
        .filter((service) => matches(query, service))
        .filter(({ isActive, seller }) => isActive || seller === viewer || can('posts.view_all'))
        .filter(({ seller }) => seller !== LEAVING || can('users.view_all'))
        .toSorted((a, b) => b.level - a.level || b.id - a.id)
        .map(({ id }) => id);
      for (const [process, send] of processes) {
        const where = [process, path];
        const read = async (part: string) => {
          const { body } = await send('GET', `${path}&${part}`, { as });
          return { meta: body.meta, ids: body.data.map(({ id }: { id: number }) => id) as number[] };
        };
        const whole = await read('per_page=100');
        expect([where, whole.meta.total, whole.ids]).toEqual([where, expected.length, expected]);
        const byCursor: number[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const part = await read(`per_page=5${cursor === '' ? '' : `&cursor=${cursor}`}`);
          byCursor.push(...part.ids);
          cursor = part.meta.next_cursor;
        }
        expect([where, byCursor]).toEqual([where, expected]);
      }
    }
  },
);
