import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, mediaCopy, openHarness, together } from './support.ts';

/** The copies of the public files of posts and training services. */

const USER = 'App\\Models\\User';
const POST = 'App\\Models\\Posts\\Post';
const SERVICE = 'App\\Models\\TrainingServices\\TrainingService';
const author = caller(7);

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const create = async (path: string, body: object): Promise<number> => {
  const answer = await harness.send('POST', path, { as: author, body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};
const write = () =>
  create('/posts', { profile_type: USER, profile_id: 7, title: 'T', content: 'C', is_draft: false });
const offer = () => create('/training-services', { title: 'T', description: '', price: 1, duration_days: 1 });

const namesOf = (row: { media: { filename: string }[] }) => row.media.map(({ filename }) => filename);

const read = async (path: string, id: number): Promise<string[]> =>
  namesOf((await harness.send('GET', `${path}/${id}`)).body.data);

/** The names of the files that the list and the resource itself show. */
const shown = async (path: string, id: number): Promise<string[]> => {
  const { body } = await harness.send('GET', `${path}?per_page=100`);
  const listed = namesOf(body.data.find((row: { id: number }) => row.id === id));
  expect(await read(path, id)).toEqual(listed);
  return listed;
};

const event = (model: string, id: number) => ({
  media_id: id * 100,
  attachable_type: model,
  attachable_id: id,
  purpose: null,
  filename: 'a.png',
  uploaded_by: 7,
});

const kinds = [
  { model: POST, path: '/posts', make: write },
  { model: SERVICE, path: '/training-services', make: offer },
];

test.each(kinds)(
  '$path: files are shown once the call returns, and a late call changes nothing',
  async ({ model, path, make }) => {
    const id = await make();
    expect(await shown(path, id)).toEqual([]);
    await harness.saveMedia(mediaCopy(model, id, ['a.png'], 1));
    expect(await shown(path, id)).toEqual(['a.png']);
    await harness.saveMedia(mediaCopy(model, id, [], 3));
    await harness.saveMedia(mediaCopy(model, id, ['a.png', 'b.png'], 2));
    expect(await shown(path, id)).toEqual([]);
  },
);

test.each(kinds)(
  '$path: the newest of concurrent calls wins, in any order',
  async ({ model, path, make }) => {
    const id = await make();
    const versions = [7, 3, 12, 1, 15, 9, 20, 2, 14, 5, 18, 11, 4, 16, 8, 19, 6, 13, 10, 17];
    await together((index) =>
      harness.saveMedia(mediaCopy(model, id, [`${versions[index]}`], versions[index])),
    );
    expect(await shown(path, id)).toEqual(['20']);
  },
);

test.each(kinds)(
  '$path: events make up for a lost call, and a late event undoes nothing',
  async ({ model, path, make }) => {
    const id = await make();
    harness.standIns.media.set(`${model}:${id}`, [1, ['a.png']]);
    await harness.publish(mediaAttached, { subject: id * 100, version: 1, data: event(model, id) });
    await eventually(async () => (await read(path, id)).length === 1);
    await harness.saveMedia(mediaCopy(model, id, ['b.png'], 3));
    // Media responds with its earlier state.
    harness.standIns.media.set(`${model}:${id}`, [2, []]);
    harness.standIns.calls.length = 0;
    await harness.publish(mediaDeleted, { subject: id * 100, version: 2, data: event(model, id) });
    await eventually(async () => harness.standIns.calls.includes('GetCopies'));
    const other = await make();
    harness.standIns.media.set(`${model}:${other}`, [1, ['c.png']]);
    await harness.publish(mediaAttached, { subject: other * 100, version: 1, data: event(model, other) });
    await eventually(async () => (await read(path, other)).length === 1);
    expect(await shown(path, id)).toEqual(['b.png']);
  },
);

test('a post keeps its files when it changes, and a copy for a missing target has no effect', async () => {
  const id = await write();
  await harness.saveMedia(mediaCopy(POST, id, ['a.png']));
  const changed = await harness.send('PUT', `/posts/${id}`, { as: author, body: { title: 'New' } });
  expect(changed.body.data.media).toHaveLength(1);
  expect((await harness.send('DELETE', `/posts/${id}`, { as: author })).status).toBe(204);
  await harness.saveMedia(mediaCopy(POST, id, ['a.png'], 2));
  await harness.saveMedia(mediaCopy('App\\Models\\Gyms\\Gym', id, ['a.png'], 2));
  expect((await harness.send('GET', `/posts/${id}`)).status).toBe(404);
});
