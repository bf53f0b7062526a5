import { postDeleted, trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { gymDeleted, gymLicenseCleared } from '@fitness/proto/events/gyms.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { GYM, holder, OWNER, openWorld, POST, SERVICE, userTarget, type World } from './support.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const gym = (id: number) => ({ ...GYM, attachable_id: id });
const openGym = (id: number) => {
  world.neighbours.gyms.set(id, { active: true, ownerId: 7 });
  return gym(id);
};
const erased = (userId: number, version = 1) =>
  world.tell('identity', accountDeleted, {
    subject: userId,
    data: { user_id: userId, deleted_at: '2026-01-15 10:00:00' },
    version,
  });
const noRowsOf = (target: { attachable_type: string; attachable_id: number }) =>
  eventually(async () => (await world.rows(target)).length === 0);
let marker = 900;
/** As long as it takes until an event that is told now has been heard. */
const heard = async (): Promise<void> => {
  marker += 1;
  const target = openGym(marker);
  await world.upload(OWNER, target);
  await world.tell('gyms', gymDeleted, { subject: marker, data: { gym_id: marker } });
  await noRowsOf(target);
};

const ENDS: [string, { attachable_type: string; attachable_id: number }, () => Promise<void>][] = [
  ['a gym', gym(61), () => world.tell('gyms', gymDeleted, { subject: 61, data: { gym_id: 61 } })],
  ['a post', POST, () => world.tell('content', postDeleted, { subject: 1, data: { post_id: 1 } })],
  [
    'a training service',
    SERVICE,
    () => world.tell('content', trainingServiceDeleted, { subject: 1, data: { training_service_id: 1 } }),
  ],
  ['an account', userTarget(60), () => erased(60)],
];

describe('what a file hangs on is gone', () => {
  test.each(ENDS)('%s: rows and files are gone, those of others stay', async (_name, target, end) => {
    openGym(61);
    const kept = await world.upload(OWNER, openGym(62));
    const before = await world.filesOnDisk();
    const ids = [];
    const uploader = target === ENDS.at(-1)?.[1] ? holder(60) : OWNER;
    for (let n = 0; n < 3; n += 1) ids.push((await world.upload(uploader, target)).body.data.id);
    await end();
    await noRowsOf(target);
    await eventually(async () => (await world.filesOnDisk()).length === before.length);
    expect(await world.filesOnDisk()).toEqual(before);
    expect(await world.rows({ _id: kept.body.data.id })).toHaveLength(1);
    for (const id of ids) {
      await world.tap.waitFor('media.media.deleted', { matches: ({ subject }) => subject === String(id) });
    }
  });

  test.each<[string, Record<string, string | number>, number]>([
    ['a gym’s licence', { ...gym(63), purpose: 'gym_license' }, 63],
    ['a trainer’s licence', { ...userTarget(64), purpose: 'trainer_license' }, 64],
  ])('%s goes too', async (_name, fields, id) => {
    openGym(63);
    const { body } = await world.upload(fields.attachable_id === 64 ? holder(64) : OWNER, fields);
    const [row] = await world.rows({ _id: body.data.id });
    expect((await world.filesOnDisk()).join()).toContain(row?.storage_key);
    await (id === 63 ? world.tell('gyms', gymDeleted, { subject: 63, data: { gym_id: 63 } }) : erased(64));
    await eventually(async () => (await world.rows({ _id: body.data.id })).length === 0);
    await eventually(async () => !(await world.filesOnDisk()).join().includes(String(row?.storage_key)));
  });

  test('more files than one transaction holds all go', async () => {
    const target = openGym(65);
    const { body } = await world.upload(OWNER, target);
    const [row] = await world.rows({ _id: body.data.id });
    const copies = Array.from({ length: 120 }, (_, n) => ({
      ...row,
      _id: 1_000_000 + n,
      storage_key: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    }));
    await world.connection.collection<{ _id: number }>('media').insertMany(copies);
    await world.tell('gyms', gymDeleted, { subject: 65, data: { gym_id: 65 } });
    await noRowsOf(target);
    const told = () =>
      world.tap.events.filter(
        ({ type, data }) =>
          type === 'media.media.deleted' && (data as { attachable_id: number }).attachable_id === 65,
      );
    await eventually(() => told().length === 121);
  });

  test('told twice, and of a target without files: nothing happens', async () => {
    const target = openGym(66);
    await world.upload(OWNER, target);
    for (const version of [1, 2]) {
      await world.tell('gyms', gymDeleted, { subject: 66, data: { gym_id: 66 }, version });
      await world.tell('gyms', gymDeleted, { subject: 67, data: { gym_id: 67 }, version });
    }
    await heard();
    expect(await world.rows(target)).toEqual([]);
  });
});

describe('an erased account', () => {
  test('is forgotten as the uploader of what stays', async () => {
    const operator = holder(71, 'gyms.update_any');
    const theirs = (await world.upload(operator, openGym(72))).body.data.id;
    const others = (await world.upload(OWNER, gym(72))).body.data.id;
    await erased(71);
    await eventually(async () => (await world.rows({ _id: theirs }))[0]?.uploaded_by === null);
    expect(await world.rows({ _id: others })).toMatchObject([{ uploaded_by: 7 }]);
    expect((await world.download(OWNER, theirs)).status).toBe(200);
    // An upload that was under way is refused: it would hold the number of the account again.
    expect((await world.upload(operator, gym(72))).status).toBe(422);
    expect(await world.rows({ uploaded_by: 71 })).toEqual([]);
  });
});

describe('a target that ends while files arrive', () => {
  test('no file is left behind, whichever comes first', async () => {
    const before = await world.filesOnDisk();
    for (let round = 0; round < 5; round += 1) {
      const user = 80 + round;
      const fields = userTarget(user);
      const [answers] = await Promise.all([
        Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            new Promise((resolve) => setTimeout(resolve, n * 4)).then(() =>
              world.upload(holder(user), n === 0 ? { ...fields, purpose: 'trainer_license' } : fields),
            ),
          ),
        ),
        erased(user),
      ]);
      // Identity goes on knowing the account here, so that it is media alone which refuses.
      expect(answers.filter(({ status }) => status !== 201 && status !== 422)).toEqual([]);
      await eventually(async () => (await world.upload(holder(user), fields)).status === 422);
      await noRowsOf(fields);
      await eventually(async () => (await world.filesOnDisk()).length === before.length);
    }
  });

  test('what comes later is refused as for any unknown target', async () => {
    const target = openGym(90);
    await world.upload(OWNER, target);
    await world.tell('gyms', gymDeleted, { subject: 90, data: { gym_id: 90 } });
    await noRowsOf(target);
    const { status, body } = await world.upload(OWNER, target);
    expect([status, Object.keys(body.errors)]).toEqual([422, ['attachable_id']]);
  });
});

test('a cleared licence goes by its event; a newer one stays', async () => {
  const target = openGym(91);
  const older = (await world.upload(OWNER, { ...target, purpose: 'gym_license' })).body.data.id;
  await world.tell('gyms', gymLicenseCleared, { subject: 91, data: { gym_id: 91, media_id: older } });
  await noRowsOf(target);
  const newer = (await world.upload(OWNER, { ...target, purpose: 'gym_license' })).body.data.id;
  await world.tell('gyms', gymLicenseCleared, {
    subject: 91,
    data: { gym_id: 91, media_id: older },
    version: 2,
  });
  await heard();
  expect(await world.rows(target)).toMatchObject([{ _id: newer }]);
});
