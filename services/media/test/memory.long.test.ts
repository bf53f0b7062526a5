/** Memory use does not grow with file sizes. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { dropDatabase, gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import type { MediaConfig } from '../src/config.ts';
import { type Child, startChild } from './child.ts';
import { createBucket, S3_CREDENTIALS, type TestBucket } from './s3.ts';
import { fileClient, GYM, MEBIBYTE, mediaConfig, OWNER, POST, pdf, startStubServices } from './support.ts';

const FILES = 10;
const FILE_BYTES = 25 * MEBIBYTE;
/** A service that held half of each file in memory would exceed this. A busy machine needs up to 90 MiB. */
const MIB_MORE = (FILES * FILE_BYTES) / MEBIBYTE / 2;

const MEGAPIXELS = 49;
/** Limit for images, of the 1,024 MiB that the process may use. */
const IMAGE_MIB = 700;

/** Bytes that differ by position, generated in chunks, so the sender does not hold a file in memory. */
function* fileInChunks(): Iterable<Buffer> {
  const head = pdf(100);
  yield head;
  const length = 64 * 1024;
  for (let at = head.length; at < FILE_BYTES; at += length) {
    const piece = Buffer.alloc(Math.min(length, FILE_BYTES - at), at % 251);
    piece.writeUInt32LE(at, 0);
    yield piece;
  }
}

function* form(boundary: string): Iterable<Buffer> {
  const fields = Object.entries(GYM).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const head = 'content-disposition: form-data; name="file"; filename="a.png"';
  yield Buffer.from(`${fields.join('')}--${boundary}\r\n${head}\r\n\r\n`);
  yield* fileInChunks();
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

const hashOf = async (pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<string> => {
  const hash = createHash('sha256');
  for await (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
};

const send = async (url: string): Promise<{ status: number | undefined; id: number }> => {
  const sending = request(`${url}/api/v1/media`, {
    method: 'POST',
    headers: {
      [CALLER_HEADER]: gatewayContext('media', OWNER),
      'content-type': 'multipart/form-data; boundary=b',
    },
  });
  const [[answer]] = await Promise.all([
    once(sending, 'response'),
    pipeline(Readable.from(form('b'), { objectMode: false }), sending),
  ]);
  const body = (await json(answer)) as { data: { id: number } };
  return { status: answer.statusCode, id: body.data.id };
};

let stubs: GrpcServer;
let bucket: TestBucket;
beforeAll(async () => {
  stubs = (await startStubServices()).server;
  bucket = await createBucket();
});
afterAll(async () => {
  await stubs.close();
  bucket.close();
});

const PLACES: Record<string, () => Partial<MediaConfig>> = {
  'the local disk': () => ({}),
  'an S3 bucket': () => ({
    MEDIA_STORAGE: 's3',
    MEDIA_S3_BUCKET: bucket.bucket,
    MEDIA_S3_ENDPOINT: bucket.endpoint,
    MEDIA_S3_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    MEDIA_S3_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
  }),
};

describe.each(Object.entries(PLACES))('files on %s', (_place, place) => {
  let config: MediaConfig;
  let child: Child;
  beforeAll(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'media-'));
    config = { ...mediaConfig(stubs.address, directory), ...place() };
    child = await startChild(config);
    // The warm-up keeps compiled code and open connections out of the measurement.
    await fileClient(child.url).upload(OWNER, GYM);
  });
  afterAll(async () => {
    await child.kill();
    await dropDatabase(config);
    await rm(config.MEDIA_DIRECTORY, { recursive: true });
  });

  test(`${FILES} concurrent uploads and downloads of 25 MiB take less than ${MIB_MORE} MiB of memory`, async () => {
    const before = child.memory().now;
    child.resetPeak();
    const uploads = await Promise.all(Array.from({ length: FILES }, () => send(child.url)));
    expect(uploads.map(({ status }) => status)).toEqual(Array(FILES).fill(201));
    expect(child.memory().peak - before).toBeLessThan(MIB_MORE);
    const hashes = await Promise.all(
      uploads.map(async ({ id }) => hashOf((await fileClient(child.url).download(GUEST, id)).body ?? [])),
    );
    expect(new Set(hashes)).toEqual(new Set([await hashOf(fileInChunks())]));
    expect(child.memory().peak - before).toBeLessThan(MIB_MORE);
  });

  test(`four images of ${MEGAPIXELS} megapixels in the most expensive form take less than ${IMAGE_MIB} MiB`, async () => {
    const side = Math.sqrt(MEGAPIXELS * 1_000_000);
    const background = { r: 200, g: 30, b: 30 };
    // In a progressive and turned image, the decoder keeps all coefficients and needs all pixels at once.
    const image = await sharp({ create: { width: side, height: side, channels: 3, background } })
      .jpeg({ progressive: true, chromaSubsampling: '4:4:4' })
      .withMetadata({ orientation: 6 })
      .toBuffer();
    const before = child.memory().now;
    child.resetPeak();
    const client = fileClient(child.url);
    const answers = await Promise.all([1, 2, 3, 4].map(() => client.upload(OWNER, POST, image)));
    // On a busy machine, the last ones may wait too long.
    expect(answers.every(({ status }) => status === 201 || status === 503)).toBe(true);
    expect(answers.some(({ status }) => status === 201)).toBe(true);
    expect(child.memory().peak - before).toBeLessThan(IMAGE_MIB);
  });
});
