/** The whole service with S3 storage. */
import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { createS3Storage } from '../src/clients/s3-storage.ts';
import type { Storage } from '../src/clients/storage.ts';
import type { MediaConfig } from '../src/config.ts';
import { photo } from './images.ts';
import { createBucket, S3_CREDENTIALS, type TestBucket } from './s3.ts';
import { GYM, type Harness, MEBIBYTE, OWNER, openHarness, pdf, STRANGER } from './support.ts';

const configOf = ({ endpoint, bucket, region }: TestBucket): Partial<MediaConfig> => ({
  MEDIA_STORAGE: 's3',
  MEDIA_S3_BUCKET: bucket,
  MEDIA_S3_REGION: region,
  MEDIA_S3_ENDPOINT: endpoint,
  MEDIA_S3_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
  MEDIA_S3_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
});

let bucket: TestBucket;
let harness: Harness;
/** Reads the bucket directly. */
let outside: Storage;
beforeAll(async () => {
  bucket = await createBucket();
  harness = await openHarness(configOf(bucket));
  outside = await createS3Storage({
    ...bucket,
    credentials: S3_CREDENTIALS,
    directory: `${harness.config.MEDIA_DIRECTORY}/outside`,
  });
});
afterAll(async () => {
  outside.close();
  await harness.close();
  bucket.close();
});

const objects = async (): Promise<string[]> => {
  const keys: string[] = [];
  for await (const key of outside.listOlderThan(new Date(Date.now() + HOUR_MS))) keys.push(key);
  return keys.toSorted();
};
const keysOfRows = async (): Promise<string[]> =>
  (await harness.rows())
    .flatMap((row) => [row, ...(row.variants ?? [])].map((file) => file.storage_key))
    .toSorted();

describe('files in a bucket', () => {
  test('files are stored before the 201, served whole and in ranges, and not left on the disk', async () => {
    const content = pdf(6 * MEBIBYTE);
    const { status, body } = await harness.upload(OWNER, GYM, content);
    expect(status).toBe(201);
    expect(await objects()).toEqual(await keysOfRows());
    expect(await harness.filesOnDisk()).toEqual([]);
    const whole = await harness.download(GUEST, body.data.id);
    expect(Buffer.from(await whole.arrayBuffer()).equals(content)).toBe(true);
    const pieces = await harness.download(GUEST, body.data.id, { range: 'bytes=10-19,-5' });
    expect([
      pieces.status,
      Buffer.from(await pieces.arrayBuffer()).includes(content.subarray(10, 20)),
    ]).toEqual([206, true]);
    expect((await harness.download(GUEST, body.data.id, {}, 'HEAD')).status).toBe(200);
  });

  test('smaller images are created once, and deleted with the original', async () => {
    const before = await objects();
    const { body } = await harness.upload(OWNER, GYM, await photo(800, 400).jpeg().toBuffer());
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => harness.download(GUEST, `${body.data.id}?width=320`)),
    );
    const bytes = await Promise.all(answers.map(async (answer) => Buffer.from(await answer.arrayBuffer())));
    expect(await sharp(bytes[0]).metadata()).toMatchObject({ format: 'jpeg', width: 320, height: 160 });
    expect(bytes.every((some) => bytes[0]?.equals(some))).toBe(true);
    expect((await objects()).length).toBe(before.length + 2);
    expect([await objects(), await harness.filesOnDisk()]).toEqual([await keysOfRows(), []]);
    await harness.send('DELETE', `/media/${body.data.id}`, { as: OWNER });
    expect(await objects()).toEqual(before);
  });

  test('a refused upload never reaches the bucket', async () => {
    const before = await objects();
    expect((await harness.upload(STRANGER, GYM)).status).toBe(403);
    expect((await harness.upload(OWNER, GYM, Buffer.from('<svg/>'))).status).toBe(422);
    expect([await objects(), await harness.filesOnDisk()]).toEqual([before, []]);
  });

  test('files are deleted with their rows by a replacement, a deletion, or with the target', async () => {
    harness.stubs.gyms.set(5, { active: true, ownerId: 7 });
    const gym = { ...GYM, attachable_id: 5 };
    for (let n = 0; n < 2; n += 1) await harness.upload(OWNER, { ...gym, purpose: 'gym_license' });
    const { body } = await harness.upload(OWNER, GYM);
    await harness.send('DELETE', `/media/${body.data.id}`, { as: OWNER });
    expect(await objects()).toEqual(await keysOfRows());
    await harness.publish(gymDeleted, { subject: 5, data: { gym_id: 5 } });
    await eventually(async () => (await harness.rows(gym)).length === 0);
    await eventually(async () => (await objects()).join() === (await keysOfRows()).join());
  });

  test('readiness reports that the bucket is reachable', async () => {
    const ready = await eventually(async () => {
      const answer = await fetch(`${harness.url}/health/ready`);
      return answer.ok && answer.json();
    });
    expect(ready).toMatchObject({ status: 'ready', dependencies: { storage: { state: 'up' } } });
  });
});

test('an upload to an unreachable bucket gets a 503, leaves nothing behind, and the service is not ready', async () => {
  const lost = await openHarness({ ...configOf(bucket), MEDIA_S3_ENDPOINT: 'http://127.0.0.1:1' });
  const { status } = await lost.upload(OWNER, GYM);
  // Refusals do not need the bucket.
  expect((await lost.upload(STRANGER, GYM)).status).toBe(403);
  expect((await lost.upload(OWNER, { ...GYM, purpose: 'passport' })).status).toBe(422);
  const ready = await fetch(`${lost.url}/health/ready`);
  expect([status, ready.status, await lost.rows(), await lost.filesOnDisk()]).toEqual([503, 503, [], []]);
  await lost.close();
});
