/** Data that older releases have stored is found, some of it after an upgrade (docs/adr/0014). */
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { removeNewerFields } from '@fitness/shared/testing/older-documents.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CLEARED, toShown } from '../src/domain/gym-fields.ts';
import { gymModel } from '../src/store/gym-document.ts';
import { type Harness, member, openHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness?.close());

test('gyms with grams of an older release are found in every spelling after the next start', async () => {
  const id = await harness.createGym(member(10), { name: 'باشگاہ چائے', address: 'پلاک ۷۲٫۵' });
  const gyms = harness.connection.collection('gyms');
  // Version 1.0.0 stored the grams in the gyms.
  expect((await gyms.updateMany({}, { $set: { grams: ['ب', 'با', 'باش'] } })).modifiedCount).toBe(1);
  await gyms.createIndex({ grams: 1, _id: -1 });
  await harness.connection.collection('gyms_texts').deleteMany({});
  await harness.connection.collection('upgrades').deleteMany({});
  const send = await harness.replica();
  for (const search of ['باشگاه', 'چائی', '72.5']) {
    const answer = await send('GET', `/gyms?search=${encodeURIComponent(search)}`, { as: GUEST });
    expect(answer.body.data.map((gym: { id: number }) => gym.id)).toEqual([id]);
  }
  expect(await gyms.countDocuments({ grams: { $exists: true } })).toBe(0);
  expect(Object.keys(await gyms.indexInformation())).not.toContain('grams_1__id_-1');
});

/** The fields that have no default, so every release stored them. */
const ALWAYS = [
  'ownerId',
  'visibleTo',
  'ratingSum',
  'ratingCount',
  'boostLevel',
  'version',
  'createdAt',
  'updatedAt',
];

test('gyms that are older than a field are shown and changed with it cleared', async () => {
  const id = await harness.createGym(member(11), { description: 'Open', show_crowd: true });
  await removeNewerFields(gymModel(harness.connection), ALWAYS);
  const shown = await harness.send('GET', `/gyms/${id}`, { as: member(11) });
  const cleared = { ...toShown(CLEARED), majors: [], working_periods: [], crowd: null };
  expect([shown.status, shown.body.gym]).toEqual([200, expect.objectContaining(cleared)]);
  const changed = await harness.send('PUT', `/gyms/${id}`, { as: member(11), body: { name: 'Iron' } });
  expect(changed.body).toEqual({ gym: { ...shown.body.gym, name: 'Iron', updated_at: expect.any(String) } });
});
