import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type CommandWatch, watchCommands } from '@fitness/shared/testing/commands.ts';
import type { SentCommand } from '@fitness/shared/testing/lookups.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, member, openHarness, operator, untilAccepted } from './support.ts';

const OWNER = member(7);

let harness: Harness;
let watch: CommandWatch;
beforeAll(async () => {
  harness = await openHarness({ watched: true });
  watch = watchCommands(harness.config.MONGODB_DATABASE);
});
afterAll(() => harness.close());

interface Stored {
  ownerId: number | null;
  isActive: boolean;
  geohash: string | null;
}
type Total = [plain: number, near: number];

const storedGyms = () =>
  harness.connection.collection('gyms').find({}).toArray() as unknown as Promise<Stored[]>;
const countedBy = async (sees: (gym: Stored) => boolean): Promise<Total> => {
  const seen = (await storedGyms()).filter(sees);
  return [seen.length, seen.filter(({ geohash }) => geohash !== null).length];
};
const listed = async (as?: UserCaller): Promise<Total> => {
  // With a page of one gym, the nearest gyms are found without reading all of them.
  const totalOf = async (query: string): Promise<number> =>
    (await harness.send('GET', `/gyms?per_page=1&${query}`, as === undefined ? {} : { as })).body.meta.total;
  return [await totalOf(''), await totalOf('near=35.7,51.4')];
};
const expectExact = async (): Promise<void> => {
  expect(await listed()).toEqual(await countedBy((gym) => gym.isActive));
  expect(await listed(OWNER)).toEqual(await countedBy((gym) => gym.isActive || gym.ownerId === 7));
  expect(await listed(operator())).toEqual(await countedBy(() => true));
};

test('three replicas that start at the same time create missing counters once', async () => {
  const counters = harness.connection.collection('gym_counters');
  await counters.deleteMany({});
  await Promise.all([harness.replica(), harness.replica(), harness.replica()]);
  expect(await counters.countDocuments({ active_placed: 0 })).toBe(16);
});

test('totals are exact after concurrent creations, changes, transfers and deletions', async () => {
  await expectExact();
  const works = Array.from({ length: 20 }, (_, index) => async () => {
    const id = await harness.createGym(index % 5 === 0 ? OWNER : member(100 + index), {
      is_active: index % 3 !== 0,
    });
    const put = (body: unknown) =>
      untilAccepted(() => harness.send('PUT', `/gyms/${id}`, { as: operator(), body }));
    const answers = await Promise.all([
      put({ is_active: index % 4 !== 0 }),
      put({ location_lat: index % 5 === 0 ? null : 35.7 }),
      put({ location_lng: index % 7 === 0 ? null : 51.4 }),
      put({ user_id: [null, 7, 200 + index][index % 3] }),
    ]);
    if (index % 10 === 9)
      answers.push(await untilAccepted(() => harness.send('DELETE', `/gyms/${id}`, { as: operator() })));
    return answers.map(({ status }) => status);
  });
  const statuses = await Promise.all(works.map((work) => work()));
  expect(new Set(statuses.flat())).toEqual(new Set([200, 204]));
  expect(await storedGyms()).toHaveLength(18);
  await expectExact();
});

test('a refused change does not affect the totals', async () => {
  const id = await harness.createGym(OWNER);
  const before = await listed(operator());
  const body = { is_active: false, location_lat: null };
  for (const refused of [
    await harness.send('PUT', `/gyms/${id}`, { as: member(8), body }),
    await harness.send('PUT', `/gyms/${id}`, { as: OWNER, body: { ...body, city_id: 99_999 } }),
    await harness.send('DELETE', `/gyms/${id}`, { as: member(8) }),
  ])
    expect([403, 422]).toContain(refused.status);
  expect(await listed(operator())).toEqual(before);
  await expectExact();
});

test('a page past the end of the nearest gyms reads no location', async () => {
  await harness.createGym(OWNER);
  const isLocationRead = ({ collection, command }: SentCommand): boolean => {
    const [first] = (command.pipeline ?? []) as { $match?: object }[];
    return collection === 'gyms' && Object.hasOwn(first?.$match ?? {}, 'geohash');
  };
  for (const as of [undefined, OWNER, operator()]) {
    const read = async (page: string) =>
      (await harness.send('GET', `/gyms?near=30,50&${page}`, as === undefined ? {} : { as })).body;
    const locationReads = async (work: () => Promise<unknown>): Promise<number> =>
      (await watch.during(work)).filter(isLocationRead).length;
    const { meta: whole } = await read('per_page=1');
    expect(await locationReads(() => read('per_page=1'))).toBeGreaterThan(0);
    const past = locationReads(async () => {
      const { data, meta } = await read('page=300');
      expect([data, meta.total]).toEqual([[], whole.total]);
    });
    expect(await past).toBe(0);
  }
});
