import { type Caller, GUEST, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { appCaller, restrictedCaller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  filesOf,
  GYM,
  type Harness,
  holder,
  OWNER,
  openHarness,
  PNG,
  pdf,
  STRANGER,
  userTarget,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());
beforeEach(() => {
  harness.stubs.calls.length = 0;
  Object.assign(harness.stubs.up, { gyms: true, identity: true });
  harness.stubs.hidden.pending.clear();
  harness.stubs.hidden.gone.clear();
});

const statusesFor = (id: number, ...callers: Caller[]): Promise<number[]> =>
  Promise.all(callers.map(async (as) => (await harness.download(as, id)).status));
const GYM_LICENSE = { ...GYM, purpose: 'gym_license' };
const trainerLicense = (id: number) => ({ ...userTarget(id), purpose: 'trainer_license' });
const everything = holder(
  11,
  'posts.view_all',
  'gyms.update_any',
  'users.update_any',
  'gyms.approve_license',
  'payments.view_all',
);

describe('the files of an operator’s account', () => {
  const PLAIN = holder(12, 'users.update_any');
  const COLLEAGUE = holder(20, 'users.update_any', 'payments.view_all');
  beforeAll(() => {
    harness.stubs.operators.set(20, [...COLLEAGUE.permissions]);
  });
  afterAll(() => harness.stubs.operators.clear());
  const remove = async (as: Caller, id: number): Promise<number> =>
    (await harness.send('DELETE', `/media/${id}`, { as })).status;

  test.each<[string, 'stay' | 'are edited', UserCaller]>([
    ['a colleague without roles.manage', 'stay', PLAIN],
    [
      'a colleague with roles.manage who lacks a permission of the account',
      'stay',
      holder(12, 'users.update_any', 'roles.manage'),
    ],
    [
      'a colleague with roles.manage who may not edit accounts',
      'stay',
      holder(12, 'roles.manage', 'payments.view_all'),
    ],
    [
      'a colleague with roles.manage and every permission of the account',
      'are edited',
      holder(12, ...COLLEAGUE.permissions, 'roles.manage'),
    ],
    ['the account itself, which does not manage roles', 'are edited', COLLEAGUE],
  ])('the files of an operator after requests by %s: they %s', async (_name, effect, as) => {
    const [created, deleted, after] = effect === 'stay' ? [403, 403, 200] : [201, 204, 404];
    const license = (await harness.upload(COLLEAGUE, trainerLicense(20))).body.data.id;
    const added = await harness.upload(as, userTarget(20));
    expect([added.status, await remove(as, license)]).toEqual([created, deleted]);
    expect(await statusesFor(license, COLLEAGUE)).toEqual([after]);
  });

  test('the files of a member are edited without roles.manage', async () => {
    const id = (await harness.upload(holder(21), trainerLicense(21))).body.data.id;
    const picture = await harness.upload(PLAIN, userTarget(21));
    expect(picture.status).toBe(201);
    expect([await remove(PLAIN, id), await remove(PLAIN, picture.body.data.id)]).toEqual([204, 204]);
  });
});

describe('who may download a private document (specification 4.3, rules 2 and 3)', () => {
  /** The license of a gym, and of a trainer. */
  let gym: number;
  let trainer: number;
  beforeAll(async () => {
    gym = (await harness.upload(OWNER, GYM_LICENSE)).body.data.id;
    trainer = (await harness.upload(OWNER, trainerLicense(7))).body.data.id;
  });

  test.each([
    ['an active gym', true],
    ['an inactive gym', false],
  ])('the license of %s is only for its owner and holders of gyms.view_all', async (_name, active) => {
    harness.stubs.gyms.set(1, { active, ownerId: 7 });
    expect(
      await statusesFor(
        gym,
        OWNER,
        holder(9, 'gyms.view_all'),
        holder(9, 'users.view_all'),
        STRANGER,
        everything,
        GUEST,
      ),
    ).toEqual([200, 200, 403, 403, 403, 403]);
  });

  test('a transfer of the gym transfers the access to its license at once', async () => {
    harness.stubs.gyms.set(1, { active: true, ownerId: 8 });
    expect(await statusesFor(gym, OWNER, STRANGER)).toEqual([403, 200]);
    harness.stubs.gyms.set(1, { active: true, ownerId: 7 });
  });

  test('a trainer’s license is only for the trainer and holders of users.view_all', async () => {
    expect(
      await statusesFor(
        trainer,
        OWNER,
        holder(9, 'users.view_all'),
        holder(9, 'gyms.view_all'),
        STRANGER,
        everything,
        GUEST,
      ),
    ).toEqual([200, 200, 403, 403, 403, 403]);
  });

  test('a restricted or OAuth token of the owner needs the permission that shows the document', async () => {
    const most = [...OWNER.permissions, 'gyms.update_any', 'users.update_any'] as const;
    for (const token of [restrictedCaller, appCaller]) {
      expect(await statusesFor(gym, token(7), token(7, ...most), token(7, 'gyms.view_all'))).toEqual([
        403, 403, 200,
      ]);
    }
    expect(await statusesFor(trainer, restrictedCaller(7, ...most))).toEqual([403]);
    expect(await statusesFor(trainer, restrictedCaller(7, 'users.view_all'))).toEqual([200]);
    // The consent page of an app names the license document of the profile.
    expect(await statusesFor(trainer, appCaller(7))).toEqual([200]);
  });

  test('a guest is refused without a call to the target’s service, even while it is down', async () => {
    harness.stubs.up.gyms = false;
    expect(await statusesFor(gym, GUEST)).toEqual([403]);
    expect(harness.stubs.calls).toEqual([]);
    expect(await statusesFor(gym, OWNER)).toEqual([503]);
    harness.stubs.up.gyms = true;
  });

  const VIEWERS = [holder(9, 'gyms.view_all'), holder(9, 'users.view_all')] as const;

  test('a pending deletion of the account does not change the access to its documents', async () => {
    harness.stubs.hidden.pending.add(7);
    expect(await statusesFor(gym, OWNER, ...VIEWERS, STRANGER, GUEST)).toEqual([200, 200, 403, 403, 403]);
    expect(await statusesFor(trainer, OWNER, ...VIEWERS, STRANGER, GUEST)).toEqual([200, 403, 200, 403, 403]);
  });

  test('nobody may download a document of a deleted target, even before the event is consumed', async () => {
    harness.stubs.gyms.set(6, { active: true, ownerId: 7 });
    const gymOfNobody = (await harness.upload(OWNER, { ...GYM_LICENSE, attachable_id: 6 })).body.data.id;
    const former = (await harness.upload(holder(41), trainerLicense(41))).body.data.id;
    harness.stubs.gyms.delete(6);
    harness.stubs.hidden.gone.add(41);
    expect(await statusesFor(gymOfNobody, ...VIEWERS, OWNER, STRANGER, GUEST)).toEqual([
      404, 403, 403, 403, 403,
    ]);
    expect(await statusesFor(former, ...VIEWERS, holder(41), STRANGER, GUEST)).toEqual([
      403, 404, 404, 403, 403,
    ]);
  });

  test('a document returns 503 for callers whose access depends on a service that is down', async () => {
    Object.assign(harness.stubs.up, { gyms: false, identity: false });
    expect(await statusesFor(gym, OWNER, ...VIEWERS, STRANGER, GUEST)).toEqual([503, 503, 503, 503, 403]);
    expect(await statusesFor(trainer, OWNER, ...VIEWERS, STRANGER, GUEST)).toEqual([503, 403, 503, 403, 403]);
  });

  test('ranges, conditions, HEAD and the name in the path are refused like GET', async () => {
    const etag = (await harness.download(OWNER, gym)).headers.get('etag') ?? '';
    for (const as of [GUEST, STRANGER, everything]) {
      for (const headers of [{ range: 'bytes=0-0' }, { 'if-none-match': etag }, { 'if-none-match': '*' }])
        expect((await harness.download(as, gym, headers)).status).toBe(403);
      expect((await harness.download(as, gym, {}, 'HEAD')).status).toBe(403);
      expect((await harness.send('GET', `/media/${gym}/a.png`, { as })).status).toBe(403);
    }
  });

  test.each(['passport', 'constructor', ''])(
    'a purpose without a rule (%j) is served to nobody',
    async (purpose) => {
      const media = harness.connection.collection<{ _id: number }>('media');
      await media.updateOne({ _id: trainer }, { $set: { purpose } });
      const all = holder(9, 'gyms.view_all', 'users.view_all', 'posts.view_all');
      expect(await statusesFor(trainer, OWNER, all, GUEST)).toEqual([403, 403, 403]);
      await media.updateOne({ _id: trainer }, { $set: { purpose: 'trainer_license' } });
    },
  );

  test('the link of a document serves it, and no public list contains it', async () => {
    const { body } = await harness.upload(OWNER, GYM_LICENSE, PNG, 'مجوز.png');
    expect(body.data.purpose).toBe('gym_license');
    const path = new URL(body.data.link).pathname.replace('/api/v1', '');
    expect((await harness.send('GET', path, { as: OWNER })).status).toBe(200);
    const media = await filesOf(harness, [GYM]);
    expect(media.map(({ id }) => id)).not.toContain(body.data.id);
  });
});

describe('one document for each purpose and target', () => {
  test('a new document replaces the row and file of the old one before the 201, with events', async () => {
    const older = (await harness.upload(holder(21), trainerLicense(21))).body.data.id;
    const before = await harness.filesOnDisk();
    const newer = (await harness.upload(holder(21), trainerLicense(21), PNG, 'b.png')).body.data.id;
    expect(await statusesFor(older, holder(21))).toEqual([404]);
    expect(await harness.rows(trainerLicense(21))).toMatchObject([{ _id: newer }]);
    expect(await harness.filesOnDisk()).toHaveLength(before.length);
    await harness.tap.waitFor('media.media.attached', {
      matches: ({ subject }) => subject === String(newer),
    });
    await harness.tap.waitFor('media.media.deleted', {
      matches: ({ subject }) => subject === String(older),
    });
    const published = harness.tap.events.filter(({ subject }) => [older, newer].includes(Number(subject)));
    expect(published.map(({ type, subject }) => [type, Number(subject)])).toEqual(
      expect.arrayContaining([
        ['media.media.attached', older],
        ['media.media.deleted', older],
        ['media.media.attached', newer],
      ]),
    );
  });

  test('documents of other targets and purposes, and public files, remain', async () => {
    const others = [
      await harness.upload(holder(22), trainerLicense(22)),
      await harness.upload(holder(23), userTarget(23)),
      await harness.upload(OWNER, GYM_LICENSE),
    ];
    await harness.upload(holder(23), trainerLicense(23));
    const ids = (await harness.rows()).map((row) => row._id);
    expect(ids).toEqual(expect.arrayContaining(others.map(({ body }) => body.data.id)));
  });

  test('twenty concurrent uploads leave one row and one file', async () => {
    const before = (await harness.filesOnDisk()).length;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => harness.upload(holder(31), trainerLicense(31), pdf(100))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const statuses = await Promise.all(
      answers.map(async ({ body }) => (await harness.download(holder(31), body.data.id)).status),
    );
    expect([200, 404].map((status) => statuses.filter((one) => one === status).length)).toEqual([1, 19]);
    expect((await harness.filesOnDisk()).length).toBe(before + 1);
  });
});

describe('calls of AttachLicense', () => {
  test('AttachLicense is called at gyms or identity for a license, and not for a public file', async () => {
    harness.stubs.attachedLicenses.length = 0;
    const gym = (await harness.upload(OWNER, GYM_LICENSE)).body.data.id;
    expect(harness.stubs.attachedLicenses).toEqual([{ gym_id: 1, media_id: gym, filename: 'a.png' }]);
    const trainer = (await harness.upload(OWNER, trainerLicense(7))).body.data.id;
    expect(harness.stubs.attachedLicenses.slice(1)).toEqual([
      { user_id: 7, media_id: trainer, filename: 'a.png' },
    ]);
    await harness.upload(OWNER, GYM);
    expect(harness.stubs.attachedLicenses).toHaveLength(2);
  });

  test('AttachLicense is retried when the first call fails', async () => {
    let refusals = 2;
    harness.stubs.attachedLicenses.length = 0;
    harness.stubs.before = (method) => {
      if (method === 'AttachLicense' && refusals-- > 0) throw new Error('out of order');
    };
    const { status } = await harness.upload(OWNER, GYM_LICENSE);
    harness.stubs.before = () => undefined;
    expect([status, harness.stubs.attachedLicenses.length]).toEqual([201, 1]);
  });

  test('a permanent failure of AttachLicense does not affect the upload, and its event is published', async () => {
    harness.stubs.before = (method) => {
      if (method === 'AttachLicense') throw new Error('out of order');
    };
    const { status, body } = await harness.upload(holder(32), trainerLicense(32));
    harness.stubs.before = () => undefined;
    expect([status, ...(await statusesFor(body.data.id, holder(32)))]).toEqual([201, 200]);
    await harness.tap.waitFor('media.media.attached', {
      matches: ({ subject }) => subject === String(body.data.id),
    });
  });
});

describe('DeleteByPurpose', () => {
  test('DeleteByPurpose deletes the named document, and no newer one', async () => {
    const older = (await harness.upload(OWNER, GYM_LICENSE)).body.data.id;
    const newer = (await harness.upload(OWNER, GYM_LICENSE)).body.data.id;
    const clear = (upTo: number) =>
      harness.grpc.call('DeleteByPurpose', { target: GYM, purpose: 'gym_license', up_to_media_id: upTo });
    expect(await clear(older)).toEqual({ deleted: false });
    expect(await statusesFor(newer, OWNER)).toEqual([200]);
    expect(await clear(newer)).toEqual({ deleted: true });
    expect(await statusesFor(newer, OWNER)).toEqual([404]);
    expect(await clear(newer)).toEqual({ deleted: false });
  });

  test('DeleteByPurpose refuses a request without a target', async () => {
    await expect(harness.grpc.call('DeleteByPurpose', { purpose: 'gym_license' })).rejects.toMatchObject({
      kind: 'validation',
    });
  });
});
