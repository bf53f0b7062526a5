import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import { environmentOf } from '@fitness/shared/testing/crash.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openPublisher } from './events.ts';
import { type Harness, join, joinAs, mediaCopy, type Person, startHarness } from './support.ts';

/** The copies of the public files of users. */

const REBUILD = fileURLToPath(new URL('../src/rebuild-cli.ts', import.meta.url));

let harness: Harness;
let person: Person;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());
beforeEach(async () => {
  person = await join(harness);
});

const shown = async (): Promise<string[]> => {
  const { body } = await harness.send('GET', '/auth/me', { as: person.caller });
  return body.user.media.map(({ filename }: { filename: string }) => filename);
};
const copy = (names: readonly string[], version: number) =>
  mediaCopy(
    person.id,
    names.map((filename, index) => ({ id: index + 1, filename })),
    version,
  );

test('an account shows its newest copy, whatever the order of the calls', async () => {
  await harness.saveMedia(copy(['a.png'], 1));
  expect(await shown()).toEqual(['a.png']);
  await harness.saveMedia(copy([], 3));
  await harness.saveMedia(copy(['a.png', 'b.png'], 2));
  expect(await shown()).toEqual([]);
});

test('the largest version of concurrent copies is kept', async () => {
  const versions = [5, 9, 2, 7, 10, 1, 8, 3, 6, 4];
  await Promise.all(versions.map((version) => harness.saveMedia(copy([`${version}.png`], version))));
  expect(await shown()).toEqual(['10.png']);
});

test('a change of the profile keeps the copy', async () => {
  await harness.saveMedia(copy(['a.png'], 1));
  const body = { first_name: 'Forugh' };
  const answer = await harness.send('PUT', '/auth/me', { as: person.caller, body });
  expect(answer.body.user.media).toMatchObject([{ filename: 'a.png' }]);
  expect(await shown()).toEqual(['a.png']);
});

test('an erased account neither keeps nor receives a copy', async () => {
  const operator = await joinAs(harness, 'operator');
  await harness.saveMedia(copy(['a.png'], 1));
  expect((await harness.send('DELETE', `/users/${person.id}`, { as: operator.caller })).status).toBe(204);
  await harness.saveMedia(copy(['a.png'], 2));
  const stored = await harness.database.collection('users').findOne({ _id: person.id as never });
  expect(stored).not.toHaveProperty('media');
});

test('a copy for an unknown account or another service changes nothing', async () => {
  await harness.saveMedia(mediaCopy(999_999_999, [], 1));
  const other = {
    ...copy(['a.png'], 1),
    target: { attachable_type: 'App\\Models\\Gyms\\Gym', attachable_id: person.id },
  };
  await harness.saveMedia(other);
  expect(await shown()).toEqual([]);
});

test.each([
  ['an upload', mediaAttached],
  ['a deletion', mediaDeleted],
])('the event of %s updates the copy when the call was lost', async (_what, definition) => {
  await harness.saveMedia(copy(['old.png'], 1));
  harness.standIns.media = [{ id: 8, userId: person.id, filename: 'new.png' }];
  harness.standIns.mediaVersion = 2;
  const publisher = await openPublisher(harness);
  const data = {
    media_id: 8,
    attachable_type: 'App\\Models\\User',
    attachable_id: person.id,
    purpose: null,
    filename: 'new.png',
  };
  await publisher.publish(definition, data, { subject: String(100 + person.id) });
  await eventually(async () => (await shown())[0] === 'new.png');
  await publisher.close();
});

test('the rebuild restores copies and search texts of all accounts, and keeps newer copies', async () => {
  const lost = await join(harness);
  const texts = harness.database.collection('users_texts');
  const written = await texts.countDocuments({ row: lost.id });
  await texts.deleteMany({ row: lost.id });
  await harness.saveMedia(copy(['newer.png'], 9));
  harness.standIns.media = [
    { id: 8, userId: person.id, filename: 'older.png' },
    { id: 9, userId: lost.id, filename: 'lost.png' },
  ];
  harness.standIns.mediaVersion = 5;
  const child = spawn(process.execPath, [REBUILD], {
    env: environmentOf(harness.config),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.resume();
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(await shown()).toEqual(['newer.png']);
  person = lost;
  expect(await shown()).toEqual(['lost.png']);
  expect(await texts.countDocuments({ row: lost.id })).toBe(written);
});
