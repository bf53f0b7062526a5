import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gymChanged } from '@fitness/proto/events/gyms.ts';
import { boostEnded, boostGranted } from '@fitness/proto/events/store-billing.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { environmentOf } from '@fitness/shared/testing/crash.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { startMongoProxy } from '@fitness/shared/testing/mongo-proxy.ts';
import { countedProgress } from '@fitness/shared/testing/progress.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDependencies } from '../src/dependencies.ts';
import { createUseCases } from '../src/use-cases.ts';
import { type Harness, openHarness } from './support.ts';

const USER = 'App\\Models\\User';
const GYM = 'App\\Models\\Gym';
const REBUILD = fileURLToPath(new URL('../src/rebuild-cli.ts', import.meta.url));

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness?.close());

/** A command that takes more than three seconds reports its progress on stderr. */
const PROGRESS = /^\d+:\d\d {2}.*\n/gm;

const run = async (MONGODB_URI: string) => {
  const child = spawn(process.execPath, [REBUILD], {
    env: { ...environmentOf(harness.config), MONGODB_URI },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { output, errors: errors.replace(PROGRESS, ''), exitCode };
};

/** The work of the command, in this process. */
const rebuild = async () => {
  const { config, clock } = harness;
  const runtime = await createServiceRuntime('content', config, { clock });
  const useCases = createUseCases(createDependencies(runtime, config));
  return useCases.rebuild(countedProgress()).finally(() => runtime.cleanup.close());
};

const write = async (userId: number, profile_type: string, profile_id: number, is_draft = false) => {
  const body = { profile_type, profile_id, title: 'T', content: 'C', is_draft };
  const answer = await harness.send('POST', '/posts', { as: caller(userId), body });
  expect(answer.status).toBe(201);
  return answer.body.data.id as number;
};

test('a rebuild corrects profiles, flags, boosts and counters while the service runs', async () => {
  const [open, closing] = [11, 12];
  for (const id of [open, closing]) harness.standIns.gyms.set(id, { user_id: 2, is_active: true });
  const remaining = [await write(2, USER, 2), await write(2, GYM, open), await write(2, GYM, open, true)];
  const closed = await write(2, GYM, closing);
  const erased = await write(3, USER, 3);
  const services = [];
  for (let index = 0; index < 2; index += 1) {
    const body = { title: 'T', description: '', price: 1, duration_days: 1 };
    const made = await harness.send('POST', '/training-services', { as: caller(2), body });
    services.push(made.body.data.id as number);
  }
  harness.standIns.gyms.set(closing, { user_id: 2, is_active: false });
  harness.standIns.gone.add(3);
  harness.standIns.boosts.set(services[0] ?? 0, { level: 1, ends_at: '2099-01-01 00:00:00' });
  harness.standIns.media.set(`App\\Models\\Posts\\Post:${remaining[0]}`, [4, ['a.png']]);
  const profiles = harness.connection.collection<{ _id: string }>('profiles');
  await profiles.deleteOne({ _id: `gym:${open}` });
  await harness.connection
    .collection<{ _id: string }>('counters')
    .updateOne({ _id: 'posts/3' }, { $inc: { 'counts.user_public_regular': 40 } });
  const { output, errors, exitCode } = await run(harness.config.MONGODB_URI);
  expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  expect(output).toMatch(/^Rebuilt 4 profiles and 2 training services\./);
  const all = await harness.send('GET', '/posts?order=ASC', { as: caller(2) });
  const ids = all.body.data.map(({ id }: { id: number }) => id);
  expect(ids).toEqual([...remaining, closed]);
  expect(all.body.meta.total).toBe(4);
  const guest = await harness.send('GET', '/posts');
  expect(guest.body.data.map(({ id }: { id: number }) => id)).toEqual([remaining[1], remaining[0]]);
  expect(guest.body.meta.total).toBe(2);
  const filesOf = ({ media }: { media: { filename: string }[] }) => media.map(({ filename }) => filename);
  expect(guest.body.data.map(filesOf)).toEqual([[], ['a.png']]);
  const operator = caller(1, ['posts.view_all']);
  expect((await harness.send('GET', `/posts/${erased}`, { as: operator })).status).toBe(404);
  const listed = await harness.send('GET', '/training-services');
  expect(listed.body.data.map(({ id }: { id: number }) => id)).toEqual(services);
  expect(await write(2, GYM, open)).toBeGreaterThan(erased);
  expect((await harness.send('GET', '/posts')).body.meta.total).toBe(3);
});

test('a rebuild of corrupted read models restores the earlier responses', async () => {
  const [owner, other, open, closed] = [21, 22, 31, 32];
  const OPERATOR = caller(1, ['posts.view_all', 'training_services.update_any', 'users.view_all']);
  harness.standIns.gyms.set(open, { user_id: owner, is_active: true });
  harness.standIns.gyms.set(closed, { user_id: owner, is_active: false });
  for (const [userId, type, id] of [
    [owner, USER, owner],
    [owner, GYM, open],
    [owner, GYM, closed],
    [other, USER, other],
  ] as const)
    for (const isDraft of [false, true]) await write(userId, type, id, isDraft);
  const ids: number[] = [];
  for (const is_active of [true, true, false]) {
    const body = { title: 'Running plan', description: '', price: 7, duration_days: 1, is_active };
    const made = await harness.send('POST', '/training-services', { as: caller(owner), body });
    ids.push(made.body.data.id);
  }
  harness.standIns.boosts.set(ids[0] ?? 0, { level: 2, ends_at: '2099-01-01 00:00:00' });
  harness.standIns.boosts.set(ids[1] ?? 0, { level: 1, ends_at: '2099-01-01 00:00:00' });
  await rebuild();
  const answers = async () => {
    const responses: string[] = [];
    for (const path of [
      '/posts',
      '/posts?order=ASC&per_page=3&page=2',
      '/posts?search=c',
      `/posts?type=${encodeURIComponent(GYM)}&item_id=${open},${closed}`,
      '/training-services',
      `/training-services?user_id=${owner}&search=plan`,
      '/training-services?max_price=7',
    ])
      for (const as of [GUEST, caller(owner), OPERATOR])
        responses.push((await harness.send('GET', path, { as })).text);
    return responses;
  };
  const before = await answers();
  const { connection } = harness;
  const nonsense = { facets: ['x'], grams: ['x'] };
  await connection
    .collection('posts')
    .updateMany({}, { $set: { ...nonsense, owner_user_id: 5, is_public: true, gone: false } });
  const texts = connection.collection<{ row: number; grams: string[] }>('posts_texts');
  await texts.updateMany({}, { $set: { grams: ['x'] } });
  const ofNoPost = 999_999;
  await texts.insertOne({ row: ofNoPost, grams: ['c'] });
  await connection
    .collection('training_services')
    .updateMany(
      {},
      { $set: { ...nonsense, boosted_until: new Date('2098-01-01') }, $unset: { boost_level: 1 } },
    );
  await connection.collection('counters').updateMany({}, { $set: { counts: { active: 99 } } });
  const profiles = connection.collection<{ _id: string }>('profiles');
  await profiles.deleteMany({ _id: { $ne: `gym:${open}` } });
  await profiles.updateMany({}, { $set: { gone: true, owner_user_id: null } });
  await connection.collection('boosts').deleteMany({});
  expect(await answers()).not.toEqual(before);
  await rebuild();
  expect(await answers()).toEqual(before);
  expect(await texts.findOne({ row: ofNoPost })).toBeNull();
  expect(await connection.collection('posts').countDocuments({ grams: { $exists: true } })).toBe(0);
  await rebuild();
  expect(await answers()).toEqual(before);
});

test('a rebuild ends with one error line if a write gets no response, and the next one succeeds', async () => {
  await write(41, USER, 41);
  const profiles = harness.connection.collection<{ _id: string }>('profiles');
  await profiles.deleteOne({ _id: 'user:41' });
  const proxy = await startMongoProxy(harness.config.MONGODB_URI);
  const writeHeld = proxy.holdAt((command, collection) => command === 'update' && collection === 'profiles');
  const { output, errors, exitCode } = await run(`${proxy.uri}&socketTimeoutMS=1000`);
  await writeHeld;
  await proxy.close();
  expect({ output, exitCode }).toEqual({ output: '', exitCode: 1 });
  expect(errors).toMatch(
    /^failed: a write has failed that may be stored: connection \d+ to \S+ timed out\n$/,
  );
  await rebuild();
  expect(await profiles.findOne({ _id: 'user:41' })).not.toBeNull();
});

test('a rebuild keeps the newer one of a response and an event that arrives meanwhile', async () => {
  const [closed, created] = [61, 62];
  const profiles = harness.connection.collection<{ _id: string; is_active: boolean }>('profiles');
  const isActive = async (id: number) => (await profiles.findOne({ _id: `gym:${id}` }))?.is_active;
  const handle = async (id: number, version: number, is_active: boolean) => {
    const inbox = harness.connection.collection('inbox');
    const before = await inbox.countDocuments({});
    const data = { gym_id: id, name: null, user_id: 2, is_active };
    await harness.publish(gymChanged, { subject: id, version, data });
    await eventually(async () => (await inbox.countDocuments({})) > before);
  };
  for (const id of [closed, created]) {
    harness.standIns.gyms.set(id, { user_id: 2, is_active: true, version: 1 });
    await write(2, GYM, id);
  }
  await profiles.deleteOne({ _id: `gym:${created}` });
  harness.standIns.before.set('GetGyms', async () => {
    harness.standIns.before.delete('GetGyms');
    await handle(closed, 2, true);
    harness.standIns.gyms.set(closed, { user_id: 2, is_active: false, version: 3 });
    harness.standIns.gyms.set(created, { user_id: 2, is_active: true, version: 6 });
    await handle(created, 7, false);
  });
  await rebuild();
  await handle(closed, 3, false);
  await handle(created, 6, true);
  expect([await isActive(closed), await isActive(created)]).toEqual([false, false]);
});

test('a rebuild keeps boosts that events change meanwhile, and no late event undoes what it has read', async () => {
  const body = { title: 'T', description: '', price: 1, duration_days: 1 };
  const ids: number[] = [];
  for (let index = 0; index < 2; index += 1)
    ids.push((await harness.send('POST', '/training-services', { as: caller(51), body })).body.data.id);
  const [granted = 0, ended = 0] = ids;
  const [live, past] = ['2099-01-01 00:00:00', '2026-01-01 00:00:00'];
  const boost = (id: number, ends_at: string) => ({
    boost_id: id + 1_000,
    boostable_type: 'training_service' as const,
    boostable_id: id,
    level: 2,
    starts_at: '2026-01-01 00:00:00',
    ends_at,
  });
  const handle = async (definition: typeof boostGranted, version: number, data: ReturnType<typeof boost>) => {
    const inbox = harness.connection.collection('inbox');
    const before = await inbox.countDocuments({});
    await harness.publish(definition, { subject: data.boost_id, version, data });
    await eventually(async () => (await inbox.countDocuments({})) > before);
  };
  const boostedUntil = async (id: number) => {
    const services = harness.connection.collection<{ _id: number; boosted_until: Date }>('training_services');
    return (await services.findOne({ _id: id }))?.boosted_until;
  };
  await handle(boostGranted, 1, boost(ended, live));
  await handle(boostEnded, 2, boost(ended, past));
  // The first response does not contain a boost whose event is handled before it arrives.
  harness.standIns.before.set('GetBoosts', async () => {
    harness.standIns.before.set('GetBoosts', async () => {
      harness.standIns.boosts.set(granted, { level: 2, ends_at: live });
    });
    await handle(boostGranted, 1, boost(granted, live));
  });
  await rebuild();
  harness.standIns.before.delete('GetBoosts');
  expect(await boostedUntil(granted)).toEqual(new Date('2099-01-01'));
  await handle(boostGranted, 1, boost(ended, live));
  expect((await boostedUntil(ended))?.getTime()).toBeLessThan(new Date('2026-01-02').getTime());
});
