/** The whole service with its files in a bucket. */

import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { GUEST } from '@fitness/shared/caller.ts';
import { HOUR_MS } from '@fitness/shared/clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createS3Storage } from '../src/clients/s3-storage.ts';
import type { Storage } from '../src/clients/storage.ts';
import type { MediaConfig } from '../src/config.ts';
import { createBucket, S3_CREDENTIALS, type TestBucket } from './s3.ts';
import { GYM, MEBIBYTE, OWNER, openWorld, picture, STRANGER, type World } from './support.ts';

const configOf = ({ endpoint, bucket, region }: TestBucket): Partial<MediaConfig> => ({
  MEDIA_STORAGE: 's3',
  MEDIA_S3_BUCKET: bucket,
  MEDIA_S3_REGION: region,
  MEDIA_S3_ENDPOINT: endpoint,
  MEDIA_S3_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
  MEDIA_S3_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
});

let bucket: TestBucket;
let world: World;
/** Looks into the bucket past the service. */
let outside: Storage;
beforeAll(async () => {
  bucket = await createBucket();
  world = await openWorld(configOf(bucket));
  outside = await createS3Storage({
    ...bucket,
    credentials: S3_CREDENTIALS,
    directory: `${world.config.MEDIA_DIRECTORY}/outside`,
  });
});
afterAll(async () => {
  outside.close();
  await world.close();
  bucket.close();
});

const objects = async (): Promise<string[]> => {
  const keys: string[] = [];
  for await (const key of outside.listOlderThan(new Date(Date.now() + HOUR_MS))) keys.push(key);
  return keys.toSorted();
};
const keysOfRows = async (): Promise<string[]> =>
  (await world.rows()).map((row) => row.storage_key).toSorted();

describe('files in a bucket', () => {
  test('are there at the 201, come back whole and in pieces, and leave nothing on the disk', async () => {
    const content = picture(6 * MEBIBYTE);
    const { status, body } = await world.upload(OWNER, GYM, content);
    expect(status).toBe(201);
    expect(await objects()).toEqual(await keysOfRows());
    expect(await world.filesOnDisk()).toEqual([]);
    const whole = await world.download(GUEST, body.data.id);
    expect(Buffer.from(await whole.arrayBuffer()).equals(content)).toBe(true);
    const pieces = await world.download(GUEST, body.data.id, { range: 'bytes=10-19,-5' });
    expect([
      pieces.status,
      Buffer.from(await pieces.arrayBuffer()).includes(content.subarray(10, 20)),
    ]).toEqual([206, true]);
    expect((await world.download(GUEST, body.data.id, {}, 'HEAD')).status).toBe(200);
  });

  test('a refused upload never reaches the bucket', async () => {
    const before = await objects();
    expect((await world.upload(STRANGER, GYM)).status).toBe(403);
    expect((await world.upload(OWNER, GYM, Buffer.from('<svg/>'))).status).toBe(422);
    expect([await objects(), await world.filesOnDisk()]).toEqual([before, []]);
  });

  test('go with their rows: replaced, deleted, or with what they hang on', async () => {
    world.neighbours.gyms.set(5, { active: true, ownerId: 7 });
    const gym = { ...GYM, attachable_id: 5 };
    for (let n = 0; n < 2; n += 1) await world.upload(OWNER, { ...gym, purpose: 'gym_license' });
    const { body } = await world.upload(OWNER, GYM);
    await world.send('DELETE', `/media/${body.data.id}`, { as: OWNER });
    expect(await objects()).toEqual(await keysOfRows());
    await world.tell('gyms', gymDeleted, { subject: 5, data: { gym_id: 5 } });
    await eventually(async () => (await world.rows(gym)).length === 0);
    await eventually(async () => (await objects()).join() === (await keysOfRows()).join());
  });

  test('the service says whether the bucket can be reached', async () => {
    const ready = await (await fetch(`${world.url}/health/ready`)).json();
    expect(ready).toMatchObject({ status: 'ready', dependencies: { storage: { state: 'up' } } });
  });
});

test('a bucket out of reach: 503, no row, nothing on the disk, and not ready', async () => {
  const lost = await openWorld({ ...configOf(bucket), MEDIA_S3_ENDPOINT: 'http://127.0.0.1:1' });
  const { status } = await lost.upload(OWNER, GYM);
  // What is refused was never there, and is refused as ever.
  expect((await lost.upload(STRANGER, GYM)).status).toBe(403);
  expect((await lost.upload(OWNER, { ...GYM, purpose: 'passport' })).status).toBe(422);
  const ready = await fetch(`${lost.url}/health/ready`);
  expect([status, ready.status, await lost.rows(), await lost.filesOnDisk()]).toEqual([503, 503, [], []]);
  await lost.close();
});
