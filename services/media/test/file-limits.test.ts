/** The limit of files per target. A target with more files does not affect others. */
import { MEDIA_COPIES_MAX } from '@fitness/contracts/media-copy.ts';

import { createLog } from '@fitness/shared/kernel/log.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MediaRow, Target } from '../src/domain/media.ts';
import { startMedia } from '../src/service.ts';
import {
  fileClient,
  filesOf,
  type Harness,
  holder,
  MEBIBYTE,
  OWNER,
  openHarness,
  PNG,
  POST,
  SERVICE,
  userTarget,
} from './support.ts';

const logged: string[] = [];
let harness: Harness;
let replica: RunningService;
beforeAll(async () => {
  const destination = { write: (line: string) => void logged.push(line) };
  harness = await openHarness({}, { log: createLog({ service: 'media', level: 'error', destination }) });
  replica = await startMedia(harness.config);
});
afterAll(async () => {
  await replica.close();
  await harness.close();
});

const fieldsOf = ({ body }: { body: { errors?: object } }): string[] => Object.keys(body.errors ?? {});
const post = (id: number): Target => ({ ...POST, attachable_id: id });

let stored = 0;
/** Stores rows directly, like an older release without a limit. Returns their ids. */
const store = async (
  target: Target,
  count: number,
  change: (n: number) => Record<string, unknown> = () => ({}),
): Promise<number[]> => {
  const [like] = await harness.rows(SAMPLE);
  if (like === undefined) throw new Error('no row to copy');
  const key = `${target.attachable_type}:${target.attachable_id}`;
  const rows = Array.from({ length: count }, (_, n) => {
    stored += 1;
    const own = { _id: 100_000 + stored, storage_key: `copy-${stored}`, target: key, public_target: key };
    return { ...like, ...target, ...own, ...change(n) };
  });
  await harness.connection.collection<{ _id: number }>('media').insertMany(rows);
  return rows.map(({ _id }) => _id);
};
const SAMPLE = userTarget(1);
beforeAll(async () => {
  await harness.upload(holder(1), SAMPLE);
});

describe('a target with as many public files as allowed', () => {
  test.each<[string, () => Target, number, number]>([
    ['a post', () => POST, 10, 7],
    ['a training service', () => SERVICE, 10, 7],
    ['a gym', () => harness.newGym(), 20, 7],
    ['a profile', () => userTarget(51), 5, 51],
  ])(
    'one more file for %s is refused with 422 under file, and nothing stays on the disk',
    async (_name, of, limit, owner) => {
      const target = of();
      const caller = owner === 7 ? OWNER : holder(owner);
      await store(target, limit - 1);
      expect((await harness.upload(caller, target)).status).toBe(201);
      const before = await harness.filesOnDisk();
      const refused = await harness.upload(caller, target);
      expect([refused.status, fieldsOf(refused)]).toEqual([422, ['file']]);
      expect(refused.body.errors.file).toEqual([`You can attach at most ${limit} files here.`]);
      expect(await harness.filesOnDisk()).toEqual(before);
      // An image that cannot be attached is not decoded.
      const damaged = await harness.upload(
        caller,
        target,
        Buffer.concat([PNG.subarray(0, 40), Buffer.alloc(200)]),
      );
      expect(damaged.body.errors).toEqual(refused.body.errors);
      expect(await harness.filesOnDisk()).toEqual(before);
      const [first] = await harness.rows(target);
      expect((await harness.send('DELETE', `/media/${first?._id}`, { as: caller })).status).toBe(204);
      expect((await harness.upload(caller, target)).status).toBe(201);
    },
  );

  test('private documents do not count towards the limit of files', async () => {
    const gym = harness.newGym();
    await store(gym, 19);
    for (let n = 0; n < 2; n += 1) {
      expect((await harness.upload(OWNER, { ...gym, purpose: 'gym_license' })).status).toBe(201);
    }
    expect((await harness.upload(OWNER, gym)).status).toBe(201);
    expect((await harness.upload(OWNER, { ...gym, purpose: 'gym_license' })).status).toBe(201);
    expect((await harness.upload(OWNER, gym)).status).toBe(422);
  });

  test('concurrent uploads through two replicas never exceed the limit of files', async () => {
    const gym = harness.newGym();
    await store(gym, 17);
    const before = (await harness.filesOnDisk()).length;
    const clients = [harness, fileClient(replica.url)];
    const uploadOnce = async (n: number): Promise<number> => {
      const client = clients[n % 2] ?? harness;
      const { status } = await client.upload(OWNER, gym);
      // Conflicts in a busy database may last until the transaction deadline (503). Nothing has changed then.
      return status === 503 ? uploadOnce(n) : status;
    };
    const statuses = await Promise.all(Array.from({ length: 20 }, (_, n) => uploadOnce(n)));
    expect([201, 422].map((status) => statuses.filter((one) => one === status).length)).toEqual([3, 17]);
    expect([(await harness.rows(gym)).length, (await harness.filesOnDisk()).length]).toEqual([
      20,
      before + 3,
    ]);
  });

  test('a target with more files from an older release shows the oldest ones, up to the limit', async () => {
    const gym = harness.newGym();
    const ids = await store(gym, 25);
    const media = await filesOf(harness, [gym]);
    expect(media.map(({ id }) => id)).toEqual(ids.slice(0, 20));
    expect((await harness.upload(OWNER, gym)).status).toBe(422);
  });
});

describe('the files shown on a page', () => {
  /** The longest name of older releases, which has the longest link. */
  const filename = `${'💪'.repeat(196)}.png`;

  test('a post with 1,250 files hides no file of the other posts on the page, and the message stays small', async () => {
    const ids = Array.from({ length: 30 }, (_, n) => 1_000 + n);
    const [crowded = 0, ...others] = ids;
    const oldest = (await store(post(crowded), 1_250, () => ({ filename }))).slice(0, 10);
    const expected = new Map([[crowded, oldest]]);
    for (const id of others) expected.set(id, await store(post(id), 3, () => ({ filename })));
    const media = await filesOf(harness, ids.map(post));
    const filesById = Map.groupBy(media, (row) => row.attachable_id);
    expect(new Map(ids.map((id) => [id, filesById.get(id)?.map((row) => row.id)]))).toEqual(expected);
    expect(Buffer.byteLength(JSON.stringify(media))).toBeLessThan(MEBIBYTE / 2);
  });

  test('the files of as many full gyms as fit in a call, with the longest names, are complete', async () => {
    const targets = Array.from({ length: MEDIA_COPIES_MAX }, () => harness.newGym());
    for (const gym of targets) await store(gym, 20, () => ({ filename }));
    const answer = await harness.grpc.call('GetCopies', { targets });
    expect(answer.copies.map(({ files }) => files.length)).toEqual(Array(MEDIA_COPIES_MAX).fill(20));
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(4 * MEBIBYTE);
  });

  test.each<[string, Partial<Record<keyof MediaRow, unknown>>]>([
    ['no creation time', { created_at: null }],
    ['text as its size', { size: 'large' }],
    ['no file name', { filename: null }],
    ['an object as its target id', { attachable_id: { id: 1 } }],
  ])('a stored row with %s is logged and left out', async (_name, wrong) => {
    const gym = harness.newGym();
    const [first, malformed, last] = await store(gym, 3, (n) => (n === 1 ? wrong : {}));
    logged.length = 0;
    const media = await filesOf(harness, [gym]);
    expect(media.map(({ id }) => id)).toEqual([first, last]);
    expect(logged.filter((line) => line.includes(`"media_id":${malformed}`))).toHaveLength(1);
  });
});
