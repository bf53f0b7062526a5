/** What the release before has stored: its training services and posts stand in their lists, and are found by words. */
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openStage, type Stage } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

test('training services without a counter and rows with other words are listed and found after the start', async () => {
  const ids: number[] = [];
  for (const title of ['Marathon', 'Strength', 'Marathon again']) {
    const body = { title, description: '', price: 1_000, duration_days: 1 };
    const made = await stage.send('POST', '/training-services', { as: caller(2), body });
    ids.unshift(made.body.data.id);
  }
  const post = { profile_type: 'App\\Models\\User', profile_id: 2, title: 'Marathon', content: 'C' };
  const written = await stage.send('POST', '/posts', { as: caller(2), body: post });
  const { connection } = stage;
  await connection.collection<{ _id: string }>('counters').deleteOne({ _id: 'training_services' });
  await connection.collection('training_services').updateMany({}, { $set: { grams: [] } });
  await connection.collection('posts').updateMany({}, { $set: { grams: [] } });
  await connection.collection('upgrades').deleteMany({});
  await stage.restart();
  const listed = async (path: string): Promise<unknown[]> => {
    const { body } = await stage.send('GET', path, { as: caller(2) });
    return [body.data.map(({ id }: { id: number }) => id), body.meta.total];
  };
  expect(await listed('/training-services')).toEqual([ids, 3]);
  expect(await listed('/training-services?search=marathon')).toEqual([[ids[0], ids[2]], 2]);
  expect(await listed('/posts?search=rathon')).toEqual([[written.body.data.id], 1]);
});
