import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { boostEnded, boostGranted } from '@fitness/proto/events/store-billing.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { environmentOf } from '@fitness/shared/testing/crash.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, member, openHarness, operator } from './support.ts';

const REBUILD = fileURLToPath(new URL('../src/rebuild-cli.ts', import.meta.url));
const OWNER = 20;

interface Made {
  id: number;
  name: string;
  city: number;
  isActive: boolean;
  /** 0 means not boosted. */
  level: number;
}

let harness: Harness;
const made: Made[] = [];
const versions = new Map<number, number>();

const boostData = (gymId: number, boostId: number, level: number, endsInMs: number) => ({
  boost_id: boostId,
  boostable_type: 'gym' as const,
  boostable_id: gymId,
  level,
  starts_at: formatTimestamp(harness.clock.now()),
  ends_at: formatTimestamp(new Date(harness.clock.now().getTime() + endsInMs)),
});
const publish = async (definition: typeof boostGranted, data: ReturnType<typeof boostData>) => {
  const version = (versions.get(data.boost_id) ?? 0) + 1;
  versions.set(data.boost_id, version);
  await harness.publish(definition, { subject: data.boost_id, data, version });
};
const stored = (id: number) =>
  harness.connection.collection<{ _id: number; boostLevel: number; boostedUntil: Date }>('gyms').findOne({
    _id: id,
  });
const untilBoosted = (id: number, level: number, isLive: boolean) =>
  eventually(async () => {
    const gym = await stored(id);
    return gym?.boostLevel === level && gym.boostedUntil > harness.clock.now() === isLive;
  });

const rebuild = async (): Promise<void> => {
  const child = spawn(process.execPath, [REBUILD], {
    env: environmentOf(harness.config),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.resume();
  expect(await once(child, 'exit')).toEqual([0, null]);
};

beforeAll(async () => {
  harness = await openHarness();
  for (let index = 0; index < 15; index += 1) {
    const gym = {
      name: index % 3 === 0 ? `Alpha ${index}` : `Beta ${index}`,
      city: 1 + (index % 2),
      isActive: index % 7 !== 6,
      level: [0, 2, 0, 1, 0][index % 5] ?? 0,
    };
    const id = await harness.createGym(member(OWNER), {
      name: gym.name,
      city_id: gym.city,
      is_active: gym.isActive,
      location_lat: 30 + index / 10,
    });
    made.push({ id, ...gym });
  }
  for (const { id, level } of made)
    if (level > 0) await publish(boostGranted, boostData(id, 1_000 + id, level, DAY_MS));
  for (const { id, level } of made) if (level > 0) await untilBoosted(id, level, true);
});
afterAll(() => harness.close());

const read = async (query: string, as: UserCaller | undefined) => {
  const answer = await harness.send('GET', `/gyms?${query}`, as === undefined ? {} : { as });
  expect([query, answer.status]).toEqual([query, 200]);
  const ids: number[] = answer.body.data.map(({ id }: { id: number }) => id);
  return { ids, meta: answer.body.meta };
};

const VIEWERS = [
  ['a guest', undefined],
  ['another member', member(21)],
  ['the owner', member(OWNER)],
  ['an operator', operator()],
] as const;
const QUERIES: { search?: string; city?: number }[] = [
  {},
  { search: 'alpha' },
  { city: 2 },
  { search: 'beta 1', city: 1 },
];

test.each(VIEWERS)(
  '%s sees boosted gyms first (pro before basic), then the newest, on all pages',
  async (_name, as) => {
    const seesAll = as !== undefined && as.userId !== 21;
    for (const { search, city } of QUERIES) {
      const filter = [
        ...(search === undefined ? [] : [`search=${search}`]),
        ...(city === undefined ? [] : [`city_id=${city}`]),
      ].join('&');
      const expected = made
        .filter(({ isActive }) => isActive || seesAll)
        .filter((gym) => city === undefined || gym.city === city)
        .filter(({ name }) => search === undefined || name.toLowerCase().includes(search))
        .toSorted((a, b) => b.level - a.level || b.id - a.id)
        .map(({ id }) => id);
      const whole = await read(`${filter}&per_page=100`, as);
      expect([filter, whole.meta.total, whole.ids]).toEqual([filter, expected.length, expected]);
      const byPage: number[] = [];
      for (let page = 1; page <= whole.meta.total / 5 + 1; page += 1)
        byPage.push(...(await read(`${filter}&per_page=5&page=${page}`, as)).ids);
      expect([filter, byPage]).toEqual([filter, expected]);
      const byCursor: number[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const part = await read(`${filter}&per_page=4${cursor === '' ? '' : `&cursor=${cursor}`}`, as);
        byCursor.push(...part.ids);
        cursor = part.meta.next_cursor;
      }
      expect([filter, byCursor]).toEqual([filter, expected]);
    }
  },
);

test('with `near`, distance alone decides the order', async () => {
  const expected = made.filter(({ isActive }) => isActive).map(({ id }) => id);
  expect((await read('near=30,51.4&per_page=100', undefined)).ids).toEqual(expected);
});

test('a boost lasts until it expires or is ended, and a gym can be boosted again at another level', async () => {
  const ids: number[] = [];
  for (const name of ['gamma 1', 'gamma 2', 'gamma 3'])
    ids.push(await harness.createGym(member(22), { name }));
  const [first = 0, second = 0, third = 0] = ids;
  const order = async () => (await read('search=gamma', undefined)).ids;
  await publish(boostGranted, boostData(first, 5_001, 2, DAY_MS));
  await publish(boostGranted, boostData(second, 5_002, 1, 2 * DAY_MS));
  await untilBoosted(first, 2, true);
  await untilBoosted(second, 1, true);
  expect(await order()).toEqual([first, second, third]);
  await publish(boostEnded, boostData(first, 5_001, 2, -1_000));
  await untilBoosted(first, 2, false);
  expect(await order()).toEqual([second, third, first]);
  await publish(boostGranted, boostData(first, 5_003, 1, DAY_MS));
  await untilBoosted(first, 1, true);
  expect(await order()).toEqual([second, first, third]);
  harness.clock.advance(DAY_MS + 1_000);
  expect(await order()).toEqual([second, third, first]);
  // A change to the gym keeps its boost.
  await harness.send('PUT', `/gyms/${second}`, { as: member(22), body: { name: 'gamma 2b' } });
  expect(await order()).toEqual([second, third, first]);
  harness.clock.advance(DAY_MS);
  expect(await order()).toEqual([third, second, first]);
});

const resourceOf = ({ boost_id: id, starts_at, ...data }: ReturnType<typeof boostData>) => ({
  ...{ id, starts_at, created_at: starts_at },
  ...data,
  boostable_type: MODEL.gym,
});
/** The boost of a gym, alone and in a list. */
const shownBoosts = async (id: number, name: string) => {
  const gym = await harness.send('GET', `/gyms/${id}`);
  const list = await harness.send('GET', `/gyms?search=${name}`);
  return [gym.body.gym, list.body.data[0]].map((shown) => shown?.boost);
};

test('a boost of a training service or of a deleted gym changes nothing', async () => {
  const id = await harness.createGym(member(23), { name: 'delta' });
  const deleted = await harness.createGym(member(23), { name: 'delta' });
  expect((await harness.send('DELETE', `/gyms/${deleted}`, { as: member(23) })).status).toBe(204);
  await publish(boostGranted, {
    ...boostData(id, 6_001, 2, DAY_MS),
    boostable_type: 'training_service' as never,
  });
  await publish(boostEnded, boostData(deleted, 6_002, 1, -1_000));
  // Events of one queue are consumed in order.
  const last = await harness.createGym(member(23), { name: 'delta' });
  await publish(boostGranted, boostData(last, 6_003, 1, DAY_MS));
  await untilBoosted(last, 1, true);
  expect(await stored(id)).toMatchObject({ boostLevel: 0, boosts: [] });
  expect(await stored(deleted)).toBeNull();
});

test('the end of a boost is published once, for the gym’s current owner, and never without an owner or gym', async () => {
  const ids: number[] = [];
  for (const name of ['epsilon 1', 'epsilon 2', 'epsilon 3'])
    ids.push(await harness.createGym(member(25), { name }));
  const [sold = 0, ownerless = 0, deleted = 0] = ids;
  // Events with one subject are handled in order.
  const publishVersion = (
    definition: typeof boostEnded,
    data: ReturnType<typeof boostData>,
    version: number,
  ) => harness.publish(definition, { subject: 8_000, data, version });
  const published = (boostId: number) =>
    harness.tap.waitFor('gyms.gym.boost_ended', { matches: ({ subject }) => subject === `boost-${boostId}` });
  for (const id of ids) await publishVersion(boostGranted, boostData(id, 8_000 + id, 2, DAY_MS), 1);
  await untilBoosted(deleted, 2, true);
  for (const [id, user_id] of [
    [sold, 26],
    [ownerless, null],
  ]) {
    const { status } = await harness.send('PUT', `/gyms/${id}`, { as: operator(), body: { user_id } });
    expect(status).toBe(200);
  }
  expect((await harness.send('DELETE', `/gyms/${deleted}`, { as: member(25) })).status).toBe(204);
  const end = boostData(sold, 8_000 + sold, 2, -1_000);
  for (const id of [ownerless, deleted])
    await publishVersion(boostEnded, { ...end, boost_id: 8_000 + id, boostable_id: id }, 2);
  // Repeated under new event ids: the version shows that an event is a repetition, not its id.
  for (let each = 0; each < 5; each += 1) await publishVersion(boostEnded, end, 2);
  // Two further ends, one after the other. Once the second is published, so is everything stored before the first.
  for (const boost_id of [18_000 + sold, 28_000 + sold]) {
    await publishVersion(boostEnded, { ...end, boost_id }, 2);
    await published(boost_id);
  }
  expect((await published(8_000 + sold)).data).toEqual({
    boost_id: 8_000 + sold,
    gym_id: sold,
    gym_name: 'epsilon 1',
    owner_user_id: 26,
    level: 2,
    ended_at: end.ends_at,
  });
  const ended = harness.tap.events
    .filter(({ type }) => type === 'gyms.gym.boost_ended')
    .map(({ subject }) => subject);
  const times = ids.map((id) => ended.filter((subject) => subject === `boost-${8_000 + id}`).length);
  expect(times).toEqual([1, 0, 0]);
});

test('the rebuild corrects grams and reads running boosts, even for gyms of an older release', async () => {
  const ids: number[] = [];
  for (const name of ['omega 1', 'omega 2', 'omega 3'])
    ids.push(await harness.createGym(member(24), { name }));
  const [old = 0, wrong = 0, plain = 0] = ids;
  const gyms = harness.connection.collection<{ _id: number }>('gyms');
  await gyms.updateOne({ _id: old }, { $unset: { boosts: 1, boostedUntil: 1, boostLevel: 1 } });
  await gyms.updateOne(
    { _id: wrong },
    { $set: { boostedUntil: new Date('2098-01-01'), boostLevel: 2, boosts: [] } },
  );
  const order = async () => (await read('search=omega', undefined)).ids;
  expect(await order()).toEqual([wrong, plain, old]);
  harness.standIns.boosts = [
    {
      id: 7_001,
      boostable_type: 'App\\Models\\Gyms\\Gym',
      boostable_id: old,
      level: 1,
      starts_at: '2026-01-01 00:00:00',
      ends_at: '2099-01-01 00:00:00',
      created_at: '2026-01-01 00:00:00',
    },
  ];
  const texts = harness.connection.collection('gyms_texts');
  const grams = async () => (await texts.find({ row: plain }).toArray()).flatMap((part) => part.grams).sort();
  const before = await grams();
  await texts.updateMany({ row: plain }, { $set: { grams: ['x'] } });
  await rebuild();
  expect(before).not.toEqual([]);
  expect(await grams()).toEqual(before);
  expect(await order()).toEqual([old, plain, wrong]);
  await publish(boostEnded, boostData(old, 7_001, 1, -1_000));
  await untilBoosted(old, 1, false);
  expect(await order()).toEqual([plain, wrong, old]);
});

test('a single gym shows what store-billing answers, and a list its copies without a call', async () => {
  const id = await harness.createGym(member(28), { name: 'lambda' });
  const copy = boostData(id, 9_500, 1, DAY_MS);
  await publish(boostGranted, copy);
  await untilBoosted(id, 1, true);
  const bought = resourceOf(boostData(id, 9_501, 2, DAY_MS));
  harness.standIns.boosts = [bought];
  harness.standIns.calls.length = 0;
  expect(await shownBoosts(id, 'lambda')).toEqual([bought, resourceOf(copy)]);
  expect(harness.standIns.calls.map(({ method }) => method)).toEqual(['GetBoosts']);
});

test('a copy that an older release stored is completed by store-billing, and is a 503 without it', async () => {
  const id = await harness.createGym(member(29), { name: 'theta' });
  const granted = boostData(id, 9_600, 1, DAY_MS);
  await publish(boostGranted, granted);
  await untilBoosted(id, 1, true);
  const gyms = harness.connection.collection<{ _id: number }>('gyms');
  // An older release stored a later boost.
  await gyms.updateOne({ _id: id }, { $set: { boostedUntil: new Date('2099-01-01') } });
  harness.standIns.boosts = [resourceOf(granted)];
  expect(await shownBoosts(id, 'theta')).toEqual([resourceOf(granted), resourceOf(granted)]);
  harness.standIns.up.storeBilling = false;
  for (const path of [`/gyms/${id}`, '/gyms?search=theta'])
    expect((await harness.send('GET', path)).status).toBe(503);
  harness.standIns.up.storeBilling = true;
});

test('the rebuild keeps what events change meanwhile, and no late event undoes what it has read', async () => {
  const [granted, ended] = [await harness.createGym(member(25)), await harness.createGym(member(25))];
  await publish(boostGranted, boostData(ended, 7_102, 1, DAY_MS));
  await publish(boostEnded, boostData(ended, 7_102, 1, -1_000));
  await untilBoosted(ended, 1, false);
  harness.standIns.boosts = [];
  // Store-billing has read the boosts, but its response comes after the event of a new one.
  harness.standIns.whileReadingBoosts = async () => {
    harness.standIns.whileReadingBoosts = undefined;
    const boost = boostData(granted, 7_101, 2, DAY_MS);
    await publish(boostGranted, boost);
    await untilBoosted(granted, 2, true);
    harness.standIns.boosts = [resourceOf(boost)];
  };
  await rebuild();
  await untilBoosted(granted, 2, true);
  const late = { subject: 7_102, data: boostData(ended, 7_102, 1, DAY_MS), version: 1 };
  const inbox = harness.connection.collection('inbox');
  const before = await inbox.countDocuments({});
  await harness.publish(boostGranted, late);
  await eventually(async () => (await inbox.countDocuments({})) > before);
  await untilBoosted(ended, 1, false);
});

// Last, because failed calls open the circuit breaker.
test.each([
  [
    'is slow',
    () => Object.assign(harness.standIns, { whileReadingBoosts: () => new Promise(() => undefined) }),
  ],
  ['is down', () => Object.assign(harness.standIns.up, { storeBilling: false })],
])('a running boost is shown while store-billing %s', async (how, fail) => {
  const name = `sigma${how.at(-1)}`;
  const id = await harness.createGym(member(27), { name });
  const granted = boostData(id, 9_000 + id, 2, DAY_MS);
  await publish(boostGranted, granted);
  await untilBoosted(id, 2, true);
  fail();
  expect(await shownBoosts(id, name)).toEqual([resourceOf(granted), resourceOf(granted)]);
  harness.clock.advance(DAY_MS + 1_000);
  expect(await shownBoosts(id, name)).toEqual([null, null]);
  Object.assign(harness.standIns, { whileReadingBoosts: undefined });
  harness.standIns.up.storeBilling = true;
});
