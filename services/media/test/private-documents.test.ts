import { type Caller, GUEST } from '@fitness/shared/caller.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  GYM,
  holder,
  INACTIVE_GYM,
  OWNER,
  openWorld,
  PNG,
  STRANGER,
  userTarget,
  type World,
} from './support.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(() => {
  world.neighbours.calls.length = 0;
  Object.assign(world.neighbours.up, { gyms: true, identity: true });
  world.neighbours.hidden.pending.clear();
  world.neighbours.hidden.gone.clear();
});

const statusesFor = (id: number, ...callers: Caller[]): Promise<number[]> =>
  Promise.all(callers.map(async (as) => (await world.download(as, id)).status));
const GYM_LICENCE = { ...GYM, purpose: 'gym_license' };
const trainerLicence = (id: number) => ({ ...userTarget(id), purpose: 'trainer_license' });
const everything = holder(
  11,
  'posts.view_all',
  'gyms.update_any',
  'users.update_any',
  'gyms.approve_license',
  'payments.view_all',
);

describe('who may fetch one (specification 4.3, rules 2 and 3)', () => {
  test.each([
    ['an active gym', GYM],
    ['an inactive gym', INACTIVE_GYM],
  ])(
    'the licence of %s: its owner and holders of gyms.view_all; everyone else is 403',
    async (_name, gym) => {
      const { body } = await world.upload(OWNER, { ...gym, purpose: 'gym_license' });
      expect(
        await statusesFor(
          body.data.id,
          OWNER,
          holder(9, 'gyms.view_all'),
          holder(9, 'users.view_all'),
          STRANGER,
          everything,
          GUEST,
        ),
      ).toEqual([200, 200, 403, 403, 403, 403]);
    },
  );

  test('the licence follows a transfer of the gym at once', async () => {
    const { body } = await world.upload(OWNER, GYM_LICENCE);
    world.neighbours.gyms.set(1, { active: true, ownerId: 8 });
    expect(await statusesFor(body.data.id, OWNER, STRANGER)).toEqual([403, 200]);
    world.neighbours.gyms.set(1, { active: true, ownerId: 7 });
  });

  test('a trainer’s licence: its subject and holders of users.view_all; everyone else is 403', async () => {
    const { body } = await world.upload(OWNER, trainerLicence(7));
    expect(
      await statusesFor(
        body.data.id,
        OWNER,
        holder(9, 'users.view_all'),
        holder(9, 'gyms.view_all'),
        STRANGER,
        everything,
        GUEST,
      ),
    ).toEqual([200, 200, 403, 403, 403, 403]);
  });

  test('a guest is refused without a question to the owner, who may be down', async () => {
    const { body } = await world.upload(OWNER, GYM_LICENCE);
    world.neighbours.calls.length = 0;
    world.neighbours.up.gyms = false;
    expect(await statusesFor(body.data.id, GUEST)).toEqual([403]);
    expect(world.neighbours.calls).toEqual([]);
    expect(await statusesFor(body.data.id, OWNER)).toEqual([503]);
    world.neighbours.up.gyms = true;
  });

  const VIEWERS = [holder(9, 'gyms.view_all'), holder(9, 'users.view_all')] as const;

  test('a pending deletion of the account changes nothing of that', async () => {
    const gym = (await world.upload(OWNER, GYM_LICENCE)).body.data.id;
    const trainer = (await world.upload(OWNER, trainerLicence(7))).body.data.id;
    world.neighbours.hidden.pending.add(7);
    expect(await statusesFor(gym, OWNER, ...VIEWERS, STRANGER, GUEST)).toEqual([200, 200, 403, 403, 403]);
    expect(await statusesFor(trainer, OWNER, ...VIEWERS, STRANGER, GUEST)).toEqual([200, 403, 200, 403, 403]);
  });

  test('once its subject is gone nobody has one any more, also before the event has come', async () => {
    world.neighbours.gyms.set(6, { active: true, ownerId: 7 });
    const gym = (await world.upload(OWNER, { ...GYM_LICENCE, attachable_id: 6 })).body.data.id;
    const trainer = (await world.upload(holder(41), trainerLicence(41))).body.data.id;
    world.neighbours.gyms.delete(6);
    world.neighbours.hidden.gone.add(41);
    expect(await statusesFor(gym, ...VIEWERS, OWNER, STRANGER, GUEST)).toEqual([404, 403, 403, 403, 403]);
    expect(await statusesFor(trainer, ...VIEWERS, holder(41), STRANGER, GUEST)).toEqual([
      403, 404, 404, 403, 403,
    ]);
  });

  test('while the service of its subject is down: 503 to who might have it, never a document', async () => {
    const gym = (await world.upload(OWNER, GYM_LICENCE)).body.data.id;
    const trainer = (await world.upload(OWNER, trainerLicence(7))).body.data.id;
    Object.assign(world.neighbours.up, { gyms: false, identity: false });
    expect(await statusesFor(gym, OWNER, ...VIEWERS, STRANGER, GUEST)).toEqual([503, 503, 503, 503, 403]);
    expect(await statusesFor(trainer, OWNER, ...VIEWERS, STRANGER, GUEST)).toEqual([503, 403, 503, 403, 403]);
  });

  test('no header asks for more: part of it, its ETag, HEAD, the name in the path', async () => {
    const { id, filename } = (await world.upload(OWNER, GYM_LICENCE, PNG, 'licence.png')).body.data;
    const etag = (await world.download(OWNER, id)).headers.get('etag') ?? '';
    for (const as of [GUEST, STRANGER, everything]) {
      for (const headers of [{ range: 'bytes=0-0' }, { 'if-none-match': etag }, { 'if-none-match': '*' }]) {
        expect((await world.download(as, id, headers)).status).toBe(403);
        expect((await world.download(as, id, headers, 'HEAD')).status).toBe(403);
        expect((await world.send('GET', `/media/${id}/${filename}`, { as, headers })).status).toBe(403);
      }
    }
  });

  test.each(['passport', 'constructor', ''])(
    'a purpose without a rule (%j) is served to nobody',
    async (purpose) => {
      const { body } = await world.upload(OWNER, GYM);
      await world.connection
        .collection<{ _id: number }>('media')
        .updateOne({ _id: body.data.id }, { $set: { purpose } });
      const all = holder(9, 'gyms.view_all', 'users.view_all', 'posts.view_all');
      expect(await statusesFor(body.data.id, OWNER, all, GUEST)).toEqual([403, 403, 403]);
    },
  );

  test('its link serves it, and no public list has it', async () => {
    const { body } = await world.upload(OWNER, GYM_LICENCE, PNG, 'مجوز.png');
    expect(body.data.purpose).toBe('gym_license');
    const path = new URL(body.data.link).pathname.replace('/api/v1', '');
    expect((await world.send('GET', path, { as: OWNER })).status).toBe(200);
    const { media } = await world.grpc.call('GetMedia', { targets: [GYM] });
    expect(media.map(({ id }) => id)).not.toContain(body.data.id);
  });
});

describe('one document for each purpose and target', () => {
  test('a new one replaces the old: row and file are gone at its 201, and both are told', async () => {
    const older = (await world.upload(holder(21), trainerLicence(21))).body.data.id;
    const before = await world.filesOnDisk();
    const newer = (await world.upload(holder(21), trainerLicence(21), PNG, 'b.png')).body.data.id;
    expect(await statusesFor(older, holder(21))).toEqual([404]);
    expect(await world.rows(trainerLicence(21))).toMatchObject([{ _id: newer }]);
    expect(await world.filesOnDisk()).toHaveLength(before.length);
    await world.tap.waitFor('media.media.attached', { matches: ({ subject }) => subject === String(newer) });
    const told = world.tap.events.filter(({ subject }) => [older, newer].includes(Number(subject)));
    expect(told.map(({ type, subject }) => [type, Number(subject)])).toEqual(
      expect.arrayContaining([
        ['media.media.attached', older],
        ['media.media.deleted', older],
        ['media.media.attached', newer],
      ]),
    );
  });

  test('another target’s, another purpose’s and public files stay', async () => {
    const kept = [
      await world.upload(holder(22), trainerLicence(22)),
      await world.upload(holder(23), userTarget(23)),
      await world.upload(OWNER, GYM_LICENCE),
    ];
    await world.upload(holder(23), trainerLicence(23));
    const ids = (await world.rows()).map((row) => row._id);
    expect(ids).toEqual(expect.arrayContaining(kept.map(({ body }) => body.data.id)));
  });

  test('twenty uploads at once leave one, and one file', async () => {
    const before = (await world.filesOnDisk()).length;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => world.upload(holder(31), trainerLicence(31))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const statuses = await Promise.all(
      answers.map(async ({ body }) => (await world.download(holder(31), body.data.id)).status),
    );
    expect([200, 404].map((status) => statuses.filter((given) => given === status).length)).toEqual([1, 19]);
    expect((await world.filesOnDisk()).length).toBe(before + 1);
  });
});

describe('its owner’s service hears of it before the 201', () => {
  test('gyms of a gym’s, identity of a trainer’s, nobody of a public file', async () => {
    world.neighbours.told.length = 0;
    const gym = (await world.upload(OWNER, GYM_LICENCE)).body.data.id;
    expect(world.neighbours.told).toEqual([{ gym_id: 1, media_id: gym, filename: 'a.png' }]);
    const trainer = (await world.upload(OWNER, trainerLicence(7))).body.data.id;
    expect(world.neighbours.told.slice(1)).toEqual([{ user_id: 7, media_id: trainer, filename: 'a.png' }]);
    await world.upload(OWNER, GYM);
    expect(world.neighbours.told).toHaveLength(2);
  });

  test('is told again when it did not answer at first', async () => {
    let refusals = 2;
    world.neighbours.told.length = 0;
    world.neighbours.before = (method) => {
      if (method === 'AttachLicense' && refusals-- > 0) throw new Error('out of order');
    };
    const { status } = await world.upload(OWNER, GYM_LICENCE);
    world.neighbours.before = () => undefined;
    expect([status, world.neighbours.told.length]).toEqual([201, 1]);
  });

  test('an upload is answered, and its file kept, when it can never be told; its event remains', async () => {
    world.neighbours.before = (method) => {
      if (method === 'AttachLicense') throw new Error('out of order');
    };
    const { status, body } = await world.upload(holder(32), trainerLicence(32));
    world.neighbours.before = () => undefined;
    expect([status, ...(await statusesFor(body.data.id, holder(32)))]).toEqual([201, 200]);
    await world.tap.waitFor('media.media.attached', {
      matches: ({ subject }) => subject === String(body.data.id),
    });
  });
});

describe('DeleteByPurpose', () => {
  test('deletes the document that is meant, and no newer one', async () => {
    const older = (await world.upload(OWNER, GYM_LICENCE)).body.data.id;
    const newer = (await world.upload(OWNER, GYM_LICENCE)).body.data.id;
    const clear = (upTo: number) =>
      world.grpc.call('DeleteByPurpose', { target: GYM, purpose: 'gym_license', up_to_media_id: upTo });
    expect(await clear(older)).toEqual({ deleted: false });
    expect(await statusesFor(newer, OWNER)).toEqual([200]);
    expect(await clear(newer)).toEqual({ deleted: true });
    expect(await statusesFor(newer, OWNER)).toEqual([404]);
    expect(await clear(newer)).toEqual({ deleted: false });
  });

  test('refuses a request without a target', async () => {
    await expect(world.grpc.call('DeleteByPurpose', { purpose: 'gym_license' })).rejects.toMatchObject({
      kind: 'validation',
    });
  });
});
