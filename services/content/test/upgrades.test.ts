/** Data that older releases have stored is found, some of it after an upgrade (docs/adr/0014). */
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { removeNewerFields } from '@fitness/shared/testing/older-documents.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { registerModels } from '../src/store/models.ts';
import { type Harness, openHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness?.close());

const write = async (path: string, body: object, userId = 2): Promise<number> => {
  const answer = await harness.send('POST', path, { as: caller(userId), body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};
const searchIds = async (path: string, search: string): Promise<number[]> => {
  const answer = await harness.send('GET', `${path}?search=${encodeURIComponent(search)}`, { as: GUEST });
  expect(answer.status).toBe(200);
  return answer.body.data.map(({ id }: { id: number }) => id);
};

test('texts folded by an older release are found in every spelling after the next start', async () => {
  const post = { profile_type: 'App\\Models\\User', profile_id: 2, title: 'چائے', content: 'وزن ۷۲٫۵' };
  const postId = await write('/posts', post);
  const service = { title: 'تخفیف ۵۰٪', description: 'جہاں', price: 1, duration_days: 1 };
  const serviceId = await write('/training-services', service);
  const { connection } = harness;
  const old = { $set: { grams: ['و', 'وز', 'وزن'] } };
  // Version 1.0.0 stored the grams in the rows.
  for (const collection of ['posts', 'training_services'])
    expect((await connection.collection(collection).updateMany({}, old)).modifiedCount).toBe(1);
  for (const collection of ['posts', 'training_services']) {
    await connection.collection(collection).createIndex({ grams: 1, _id: -1 });
    await connection.collection(`${collection}_texts`).deleteMany({});
  }
  await connection.collection('upgrades').deleteMany({});
  await harness.restart();
  for (const search of ['چائی', '72.5']) expect(await searchIds('/posts', search)).toEqual([postId]);
  for (const search of ['50%', 'جهان'])
    expect(await searchIds('/training-services', search)).toEqual([serviceId]);
  for (const name of ['posts', 'training_services']) {
    const collection = connection.collection(name);
    expect(await collection.countDocuments({ grams: { $exists: true } })).toBe(0);
    expect(Object.keys(await collection.indexInformation())).not.toContain('grams_1__id_-1');
  }
});

/** The fields of each collection that have no default, so every release stored them. */
const ALWAYS = ['title', 'facets', 'created_at', 'updated_at', 'version'];
const ALWAYS_IN_POSTS = ['profile_key', 'profile_kind', 'profile_id', 'owner_user_id', 'is_public', 'gone'];
const ALWAYS_IN_SERVICES = [
  'user_id',
  'description',
  'price',
  'duration_days',
  'boosted_until',
  'boost_level',
];

test('posts and training services that are older than a field are shown and changed with its default', async () => {
  const post = { profile_type: 'App\\Models\\User', profile_id: 3, title: 'T', content: 'C', in_blog: true };
  const postPath = `/posts/${await write('/posts', post, 3)}`;
  const service = { title: 'T', description: 'D', price: 1, duration_days: 1, is_active: false };
  const servicePath = `/training-services/${await write('/training-services', service, 3)}`;
  const { posts, trainingServices } = registerModels(harness.connection);
  await removeNewerFields(posts, [...ALWAYS, ...ALWAYS_IN_POSTS, 'content']);
  await removeNewerFields(trainingServices, [...ALWAYS, ...ALWAYS_IN_SERVICES]);
  const older: [path: string, expected: object][] = [
    [postPath, { content: 'C', is_draft: false, in_blog: false, media: [] }],
    [servicePath, { description: 'D', is_active: true, media: [] }],
  ];
  for (const [path, expected] of older) {
    const shown = await harness.send('GET', path, { as: caller(3) });
    expect([shown.status, shown.body.data]).toEqual([200, expect.objectContaining(expected)]);
    const changed = await harness.send('PUT', path, { as: caller(3), body: { title: 'U' } });
    expect(changed.body).toEqual({
      data: { ...shown.body.data, title: 'U', updated_at: expect.any(String) },
    });
  }
});
