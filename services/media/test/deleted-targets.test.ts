import { postDeleted, trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { gymDeleted, gymLicenseCleared } from '@fitness/proto/events/gyms.ts';
import { accountDeleted, trainerLicenseCleared } from '@fitness/proto/events/identity.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { GYM, type Harness, holder, OWNER, openHarness, POST, SERVICE, userTarget } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const gym = (id: number) => ({ ...GYM, attachable_id: id });
const openGym = (id: number) => {
  harness.stubs.gyms.set(id, { active: true, ownerId: 7 });
  return gym(id);
};
const publishErasure = (userId: number, version = 1) =>
  harness.publish(accountDeleted, {
    subject: userId,
    data: { user_id: userId, deleted_at: '2026-01-15 10:00:00' },
    version,
  });
const noRowsOf = (target: { attachable_type: string; attachable_id: number }) =>
  eventually(async () => (await harness.rows(target)).length === 0);
let marker = 900;
/** Resolves when every event published so far has been consumed. */
const allConsumed = async (): Promise<void> => {
  marker += 1;
  const target = openGym(marker);
  await harness.upload(OWNER, target);
  await harness.publish(gymDeleted, { subject: marker, data: { gym_id: marker } });
  await noRowsOf(target);
};

const DELETIONS: [string, { attachable_type: string; attachable_id: number }, () => Promise<unknown>][] = [
  ['a gym', gym(61), () => harness.publish(gymDeleted, { subject: 61, data: { gym_id: 61 } })],
  ['a post', POST, () => harness.publish(postDeleted, { subject: 1, data: { post_id: 1 } })],
  [
    'a training service',
    SERVICE,
    () => harness.publish(trainingServiceDeleted, { subject: 1, data: { training_service_id: 1 } }),
  ],
  ['an account', userTarget(60), () => publishErasure(60)],
];

describe('the deletion of a target', () => {
  test.each(DELETIONS)(
    'the deletion of %s deletes its rows and files, and those of other targets remain',
    async (_name, target, publishDeletion) => {
      openGym(61);
      const remaining = await harness.upload(OWNER, openGym(62));
      const before = await harness.filesOnDisk();
      const ids = [];
      const uploader = target === DELETIONS.at(-1)?.[1] ? holder(60) : OWNER;
      for (let n = 0; n < 2; n += 1) ids.push((await harness.upload(uploader, target)).body.data.id);
      await publishDeletion();
      await noRowsOf(target);
      await eventually(async () => (await harness.filesOnDisk()).length === before.length);
      expect(await harness.filesOnDisk()).toEqual(before);
      expect(await harness.rows({ _id: remaining.body.data.id })).toHaveLength(1);
      for (const id of ids) {
        await harness.tap.waitFor('media.media.deleted', {
          matches: ({ subject }) => subject === String(id),
        });
      }
    },
  );

  test.each<[string, Record<string, string | number>, number]>([
    ['a gym’s license', { ...gym(63), purpose: 'gym_license' }, 63],
    ['a trainer’s license', { ...userTarget(64), purpose: 'trainer_license' }, 64],
  ])('%s is deleted with its target', async (_name, fields, id) => {
    openGym(63);
    const { body } = await harness.upload(fields.attachable_id === 64 ? holder(64) : OWNER, fields);
    const [row] = await harness.rows({ _id: body.data.id });
    expect((await harness.filesOnDisk()).join()).toContain(row?.storage_key);
    await (id === 63
      ? harness.publish(gymDeleted, { subject: 63, data: { gym_id: 63 } })
      : publishErasure(64));
    await eventually(async () => (await harness.rows({ _id: body.data.id })).length === 0);
    await eventually(async () => !(await harness.filesOnDisk()).join().includes(String(row?.storage_key)));
  });

  test('more files than one transaction can delete are all deleted', async () => {
    const target = openGym(65);
    const { body } = await harness.upload(OWNER, target);
    const [row] = await harness.rows({ _id: body.data.id });
    const copies = Array.from({ length: 120 }, (_, n) => ({
      ...row,
      _id: 1_000_000 + n,
      storage_key: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    }));
    await harness.connection.collection<{ _id: number }>('media').insertMany(copies);
    await harness.publish(gymDeleted, { subject: 65, data: { gym_id: 65 } });
    await noRowsOf(target);
    const published = () =>
      harness.tap.events.filter(
        ({ type, data }) =>
          type === 'media.media.deleted' && (data as { attachable_id: number }).attachable_id === 65,
      );
    await eventually(() => published().length === 121);
  });

  test('repeated events and events about a target without files have no effect', async () => {
    const target = openGym(66);
    await harness.upload(OWNER, target);
    for (const version of [1, 2]) {
      await harness.publish(gymDeleted, { subject: 66, data: { gym_id: 66 }, version });
      await harness.publish(gymDeleted, { subject: 67, data: { gym_id: 67 }, version });
    }
    await allConsumed();
    expect(await harness.rows(target)).toEqual([]);
  });
});

describe('an erased account', () => {
  test('an erased account is removed as the uploader of files that remain', async () => {
    const operator = holder(71, 'gyms.update_any');
    const theirs = (await harness.upload(operator, openGym(72))).body.data.id;
    const others = (await harness.upload(OWNER, gym(72))).body.data.id;
    await publishErasure(71);
    await eventually(async () => (await harness.rows({ _id: theirs }))[0]?.uploaded_by === null);
    expect(await harness.rows({ _id: others })).toMatchObject([{ uploaded_by: 7 }]);
    expect((await harness.download(OWNER, theirs)).status).toBe(200);
    // A later upload is refused: its row would contain the id of the account again.
    expect((await harness.upload(operator, gym(72))).status).toBe(422);
    expect(await harness.rows({ uploaded_by: 71 })).toEqual([]);
  });
});

test('an erased account is removed from all its uploads, even if one step cannot change them all', async () => {
  const many = CHANGES_MAX + 100;
  const operator = holder(75, 'gyms.update_any');
  const first = (await harness.upload(operator, openGym(75))).body.data.id;
  const copies = (n: number) => ({
    _id: 1_000_000 + n,
    storage_key: `copy ${n}`,
    target: `copy ${n}`,
    public_target: `copy ${n}`,
  });
  await fillLike(harness.connection, 'media', copies, { _id: first }, many);
  await publishErasure(75);
  await eventually(async () => (await harness.rows({ uploaded_by: 75 })).length === 0);
  expect(await harness.rows({ _id: first })).toMatchObject([{ uploaded_by: null }]);
});

describe('a target that is deleted during uploads', () => {
  test('no file of a deleted target remains, whichever transaction commits first', async () => {
    const before = await harness.filesOnDisk();
    const id = 80;
    const fields = openGym(id);
    const [answers] = await Promise.all([
      Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          new Promise((resolve) => setTimeout(resolve, n * 4)).then(() =>
            harness.upload(OWNER, n === 0 ? { ...fields, purpose: 'gym_license' } : fields),
          ),
        ),
      ),
      harness.publish(gymDeleted, { subject: id, data: { gym_id: id } }),
    ]);
    // The gyms stub still knows the gym, so only the attachment guard refuses.
    expect(answers.filter(({ status }) => status !== 201 && status !== 422)).toEqual([]);
    await eventually(async () => {
      const { status, body } = await harness.upload(OWNER, fields);
      return status === 422 && Object.keys(body.errors).join() === 'attachable_id';
    });
    await noRowsOf(fields);
    await eventually(async () => (await harness.filesOnDisk()).length === before.length);
  });

  test('an upload to a deleted target is refused like one to an unknown target', async () => {
    const target = openGym(90);
    await harness.upload(OWNER, target);
    await harness.publish(gymDeleted, { subject: 90, data: { gym_id: 90 } });
    await noRowsOf(target);
    const { status, body } = await harness.upload(OWNER, target);
    expect([status, Object.keys(body.errors)]).toEqual([422, ['attachable_id']]);
  });
});

test.each([
  {
    purpose: 'gym_license',
    targetOf: () => openGym(91),
    clear: (media_id: number, version: number) =>
      harness.publish(gymLicenseCleared, { subject: 91, data: { gym_id: 91, media_id }, version }),
  },
  {
    purpose: 'trainer_license',
    targetOf: () => userTarget(OWNER.userId),
    clear: (media_id: number, version: number) =>
      harness.publish(trainerLicenseCleared, {
        subject: OWNER.userId,
        data: { user_id: OWNER.userId, media_id },
        version,
      }),
  },
])(
  'the clearing event of a $purpose deletes that document, but no newer one',
  async ({ purpose, targetOf, clear }) => {
    const target = targetOf();
    const documents = async () => (await harness.rows(target)).filter((row) => row.purpose === purpose);
    const older = (await harness.upload(OWNER, { ...target, purpose })).body.data.id;
    await clear(older, 1);
    await eventually(async () => (await documents()).length === 0);
    const newer = (await harness.upload(OWNER, { ...target, purpose })).body.data.id;
    await clear(older, 2);
    await allConsumed();
    expect(await documents()).toMatchObject([{ _id: newer }]);
  },
);
