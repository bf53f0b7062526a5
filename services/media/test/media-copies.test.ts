import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { GYM, type Harness, OWNER, openHarness, POST, SERVICE, userTarget } from './support.ts';

/** The copies that media sends to the services whose lists show public files. */

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());
beforeEach(() => {
  harness.stubs.savedCopies.length = 0;
  harness.stubs.before = () => undefined;
});

const newest = () => harness.stubs.savedCopies.toSorted((a, b) => a.version - b.version).at(-1);
const namesOf = (copy: ReturnType<typeof newest>) => copy?.files.map(({ filename }) => filename);

test.each([POST, SERVICE, userTarget(7)])(
  'an upload returns after the service of $attachable_type has the file',
  async (target) => {
    expect((await harness.upload(OWNER, target)).status).toBe(201);
    expect(newest()).toMatchObject({ target, files: [{ filename: 'a.png' }] });
  },
);

test.each([GYM])(
  'uploads and deletions return after the service has the files: $attachable_type',
  async (target) => {
    const first = await harness.upload(OWNER, target, undefined, 'a.png');
    expect(first.status).toBe(201);
    expect(namesOf(newest())).toEqual(['a.png']);
    const second = await harness.upload(OWNER, target, undefined, 'b.png');
    expect(namesOf(newest())).toEqual(['a.png', 'b.png']);
    for (const { body } of [first, second])
      expect((await harness.send('DELETE', `/media/${body.data.id}`, { as: OWNER })).status).toBe(204);
    expect(newest()).toMatchObject({ target, files: [] });
    expect(harness.stubs.savedCopies.map(({ version }) => version)).toEqual(
      harness.stubs.savedCopies.map(({ version }) => version).toSorted((a, b) => a - b),
    );
  },
);

test('the copy with the largest version has the stored files after concurrent changes', async () => {
  const gym = harness.newGym();
  const deleted = await harness.upload(OWNER, gym);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      index === 3
        ? harness.send('DELETE', `/media/${deleted.body.data.id}`, { as: OWNER })
        : harness.upload(OWNER, gym, undefined, `${index}.png`),
    ),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 201, 201, 201, 201, 204]);
  const versions = harness.stubs.savedCopies.map(({ version }) => version);
  expect(new Set(versions).size).toBe(versions.length);
  const stored = (await harness.rows(gym)).map(({ _id }) => _id).toSorted((a, b) => a - b);
  expect(newest()?.files.map(({ id }) => id)).toEqual(stored);
  const [copy] = (await harness.grpc.call('GetCopies', { targets: [gym] })).copies;
  expect(copy).toEqual(newest());
});

test('private documents have no copy', async () => {
  expect((await harness.upload(OWNER, { ...GYM, purpose: 'gym_license' })).status).toBe(201);
  expect(harness.stubs.savedCopies).toEqual([]);
});

test('an upload returns 503 outcome_unknown if the service does not respond, and the file is stored', async () => {
  const gym = harness.newGym();
  harness.stubs.before = (method) => {
    harness.stubs.up.gyms = method !== 'Save';
  };
  const answer = await harness.upload(OWNER, gym);
  harness.stubs.up.gyms = true;
  expect(answer).toMatchObject({ status: 503, body: { code: 'outcome_unknown' } });
  const [row] = await harness.rows(gym);
  await harness.tap.waitFor('media.media.attached', {
    matches: ({ subject }) => subject === String(row?._id),
  });
  harness.stubs.before = () => undefined;
  expect((await harness.download(OWNER, row?._id ?? 0)).status).toBe(200);
  const [copy] = (await harness.grpc.call('GetCopies', { targets: [gym] })).copies;
  expect(copy?.files.map(({ id }) => id)).toEqual([row?._id]);
});
