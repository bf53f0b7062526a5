import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createS3Storage } from '../src/clients/s3-storage.ts';
import { createBucket, S3_CREDENTIALS, type TestBucket } from './s3.ts';
import {
  content,
  fromNow,
  HOUR_MS,
  inDirectory,
  inPieces,
  NOT_THERE,
  sha256,
  testStorage,
} from './storage-cases.ts';
import { MEBIBYTE } from './support.ts';

const s3At = (
  bucket: Pick<TestBucket, 'endpoint' | 'bucket' | 'region'>,
  directory: string,
  pageSize?: number,
) =>
  createS3Storage({
    bucket: bucket.bucket,
    region: bucket.region,
    endpoint: bucket.endpoint,
    credentials: S3_CREDENTIALS,
    directory,
    pageSize,
  });

testStorage('an S3 bucket', () =>
  inDirectory(async (directory) => {
    const bucket = await createBucket();
    return {
      storage: await s3At(bucket, directory),
      putForeign: (name) => bucket.putObject(`xx/${name}`, 'not ours'),
      close: async () => bucket.close(),
    };
  }),
);

describe('an S3 bucket', () => {
  let bucket: TestBucket;
  let directory: string;
  beforeAll(async () => {
    bucket = await createBucket();
    directory = await mkdtemp(join(tmpdir(), 'storage-'));
  });
  afterAll(async () => {
    bucket.close();
    await rm(directory, { recursive: true });
  });

  test('objects on every page of the listing are listed', async () => {
    const storage = await s3At(bucket, directory, 10);
    const keys = Array.from(
      { length: 25 },
      (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    );
    await Promise.all(keys.map((key) => bucket.putObject(key, 'x')));
    const listed: string[] = [];
    for await (const key of storage.listOlderThan(fromNow(HOUR_MS))) listed.push(key);
    expect(listed.toSorted()).toEqual(keys);
    storage.close();
  });

  test('a missing or unreachable bucket is unavailable, never a missing file', async () => {
    const nowhere = await s3At({ ...bucket, endpoint: 'http://127.0.0.1:1' }, directory);
    const file = await nowhere.receive(inPieces(content(1_000)));
    for (const work of [
      () => nowhere.place(file),
      () => nowhere.open(file.key),
      () => nowhere.delete(NOT_THERE),
      () => nowhere.check(),
    ]) {
      await expect(work()).rejects.toMatchObject({ kind: 'unavailable' });
    }
    nowhere.close();
    const other = await s3At({ ...bucket, bucket: `${bucket.bucket}-not` }, directory);
    await expect(other.check()).rejects.toThrow();
    await expect(other.place(file)).rejects.toMatchObject({ kind: 'unavailable' });
    other.close();
    // A file that could not be placed can be placed later.
    const storage = await s3At(bucket, directory);
    await storage.place(file);
    expect(await buffer(await storage.open(file.key))).toEqual(content(1_000));
    storage.close();
  });

  test('downloads that nobody reads do not block uploads, deletions, checks and other downloads', async () => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200);
      // An object that never ends.
      if (request.method === 'GET' && !request.url?.includes('list-type')) response.write('x');
      else response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const storage = await s3At({ ...bucket, endpoint: `http://127.0.0.1:${port}` }, directory);
    // More than there are connections for everything else.
    const streams = await Promise.all(Array.from({ length: 210 }, () => storage.open(NOT_THERE)));
    await storage.place(await storage.receive(inPieces(content(1_000))));
    await storage.delete(NOT_THERE);
    await storage.check();
    streams.push(await storage.open(NOT_THERE));
    for (const stream of streams) stream.on('error', () => undefined).destroy();
    storage.close();
    server.closeAllConnections();
    server.close();
  });

  test('each file is sent in one PUT of known length and hash, repeated after a failure', async () => {
    const puts: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
    const server = createServer(async (request, response) => {
      puts.push({ headers: request.headers, body: await buffer(request) });
      response.writeHead(puts.length === 1 ? 500 : 200).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const storage = await s3At({ ...bucket, endpoint: `http://127.0.0.1:${port}` }, directory);
    const bytes = content(3 * MEBIBYTE);
    await storage.place(await storage.receive(inPieces(bytes)));
    expect(puts).toHaveLength(2);
    for (const { headers, body } of puts) {
      expect(headers).toMatchObject({
        'content-length': String(bytes.length),
        'x-amz-checksum-sha256': Buffer.from(sha256(bytes), 'hex').toString('base64'),
      });
      expect(headers).not.toHaveProperty('transfer-encoding');
      expect(body.equals(bytes)).toBe(true);
    }
    storage.close();
    server.closeAllConnections();
    server.close();
  });
});
