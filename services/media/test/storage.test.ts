/** One suite for every storage. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createLocalStorage } from '../src/clients/local-storage.ts';
import { createS3Storage } from '../src/clients/s3-storage.ts';
import type { Storage } from '../src/clients/storage.ts';
import { FILE_MISSING, type StoredFile } from '../src/domain/media.ts';
import { createBucket, S3_CREDENTIALS, type TestBucket } from './s3.ts';
import { filesIn, MEBIBYTE } from './support.ts';

interface Place {
  storage: Storage;
  directory: string;
  /** Stores a file of another program next to the service's files. */
  putForeign(name: string): Promise<void>;
  close(): Promise<void>;
}

const inDirectory = async (
  open: (directory: string) => Promise<Omit<Place, 'directory'>>,
): Promise<Place> => {
  const directory = await mkdtemp(join(tmpdir(), 'storage-'));
  const place = await open(directory);
  return {
    ...place,
    directory,
    close: async () => {
      place.storage.close();
      await place.close();
      await rm(directory, { recursive: true });
    },
  };
};

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

const PLACES: Record<string, () => Promise<Place>> = {
  'the local disk': () =>
    inDirectory(async (directory) => ({
      storage: await createLocalStorage(directory),
      putForeign: async (name) => {
        await mkdir(join(directory, 'files', 'xx'), { recursive: true });
        await writeFile(join(directory, 'files', 'xx', name), 'not ours');
      },
      close: async () => undefined,
    })),
  'an S3 bucket': () =>
    inDirectory(async (directory) => {
      const bucket = await createBucket();
      return {
        storage: await s3At(bucket, directory),
        putForeign: (name) => bucket.putObject(`xx/${name}`, 'not ours'),
        close: async () => bucket.close(),
      };
    }),
};

/** Bytes that differ by position, so tests detect a shifted range. */
const content = (bytes: number, seed = 1): Buffer => {
  const block = createHash('sha512').update(String(seed)).digest();
  const whole = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += block.length) {
    block.writeUInt32LE(at, 0);
    block.copy(whole, at);
  }
  return whole;
};
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const inPieces = (bytes: Buffer, length = 60_000): Readable =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
    })(),
    { objectMode: false },
  );
const HOUR_MS = 3_600_000;
const fromNow = (ms: number): Date => new Date(Date.now() + ms);
const NOT_THERE = '00000000-0000-4000-8000-000000000000';

describe.each(Object.entries(PLACES))('files on %s', (_name, open) => {
  let place: Place;
  let storage: Storage;
  beforeAll(async () => {
    place = await open();
    storage = place.storage;
  });
  afterAll(() => place.close());

  const put = async (bytes: Buffer): Promise<StoredFile> => {
    const file = await storage.receive(inPieces(bytes));
    await storage.place(file);
    return file;
  };
  const read = async (...of: Parameters<Storage['open']>): Promise<Buffer> =>
    buffer(await storage.open(...of));
  const listed = async (before: Date): Promise<string[]> => {
    const keys: string[] = [];
    for await (const key of storage.listOlderThan(before)) keys.push(key);
    return keys;
  };

  test('a received file is counted and hashed, and cannot be opened before it is placed', async () => {
    const bytes = content(200_000);
    const file = await storage.receive(inPieces(bytes));
    expect(file).toMatchObject({ size: bytes.length, sha256: sha256(bytes) });
    await expect(storage.open(file.key)).rejects.toMatchObject({ code: FILE_MISSING });
    await storage.place(file);
    expect(await read(file.key)).toEqual(bytes);
  });

  // memory.long.test.ts has files of 25 MiB.
  test('6 MiB are returned unchanged, completely and in ranges', async () => {
    const bytes = content(6 * MEBIBYTE);
    const { key } = await put(bytes);
    expect(sha256(await read(key))).toBe(sha256(bytes));
    for (const [start, end] of [
      [0, 0],
      [5 * MEBIBYTE - 1, 5 * MEBIBYTE + 1],
      [5 * MEBIBYTE, 6 * MEBIBYTE - 1],
    ] as const) {
      expect((await read(key, { start, end })).equals(bytes.subarray(start, end + 1))).toBe(true);
    }
  });

  test('twenty concurrent files do not mix', async () => {
    const all = Array.from({ length: 20 }, (_, n) => content(100_000 + n, n));
    const files = await Promise.all(all.map(put));
    const back = await Promise.all(files.map(({ key }) => read(key)));
    expect(back.map(sha256)).toEqual(all.map(sha256));
    expect(new Set(files.map(({ key }) => key)).size).toBe(20);
  });

  test('an interrupted upload leaves nothing', async () => {
    const [before, keys] = [await filesIn(place.directory), await listed(fromNow(HOUR_MS))];
    const broken = Readable.from(
      (async function* () {
        yield content(300_000);
        throw new Error('connection lost');
      })(),
    );
    await expect(storage.receive(broken)).rejects.toThrow('connection lost');
    expect(await filesIn(place.directory)).toEqual(before);
    expect(await listed(fromNow(HOUR_MS))).toEqual(keys);
  });

  test('deletion removes received and placed files, and may be repeated', async () => {
    const waiting = await storage.receive(inPieces(content(1_000)));
    const placed = await put(content(1_000));
    for (const { key } of [waiting, placed, waiting, placed]) await storage.delete(key);
    await storage.delete(NOT_THERE);
    await expect(storage.place(waiting)).rejects.toMatchObject({ code: FILE_MISSING });
    await expect(storage.open(placed.key)).rejects.toMatchObject({ code: FILE_MISSING });
    const left = await listed(fromNow(HOUR_MS));
    expect(left.filter((key) => key === waiting.key || key === placed.key)).toEqual([]);
  });

  test('a discarded file cannot be placed, and discarding may be repeated', async () => {
    const waiting = await storage.receive(inPieces(content(1_000)));
    await storage.discard(waiting);
    await storage.discard(waiting);
    await expect(storage.place(waiting)).rejects.toMatchObject({ code: FILE_MISSING });
    expect(await listed(fromNow(HOUR_MS))).not.toContain(waiting.key);
  });

  test('a failing disk is unavailable', async () => {
    const [spool, away] = [join(place.directory, 'arriving'), join(place.directory, 'away')];
    await rename(spool, away);
    await expect(storage.receive(inPieces(content(1_000)))).rejects.toMatchObject({ kind: 'unavailable' });
    await rename(away, spool);
  });

  test('old received and placed files are listed, but not young files or those of other programs', async () => {
    const waiting = await storage.receive(inPieces(content(1_000)));
    const placed = await put(content(1_000));
    await place.putForeign('notes.txt');
    const old = await listed(fromNow(HOUR_MS));
    expect(old).toEqual(expect.arrayContaining([waiting.key, placed.key]));
    expect(old.filter((key) => !/^[0-9a-f-]{36}$/.test(key))).toEqual([]);
    expect(await listed(fromNow(-HOUR_MS))).toEqual([]);
  });

  test.each(['../../etc/passwd', '', 'a/b', NOT_THERE.toUpperCase().replaceAll('0', 'G'), `${NOT_THERE}/..`])(
    'the string %j is not a key and is rejected',
    async (key) => {
      await expect(storage.open(key)).rejects.toThrow('not a storage key');
      await expect(storage.delete(key)).rejects.toThrow('not a storage key');
      await expect(storage.place({ key, size: 1, sha256: '' })).rejects.toThrow('not a storage key');
    },
  );

  test('readers that stop early do not affect later reads', async () => {
    const bytes = content(2 * MEBIBYTE);
    const { key } = await put(bytes);
    for (let round = 0; round < 3; round += 1) {
      const streams = await Promise.all(Array.from({ length: 20 }, () => storage.open(key)));
      for (const stream of streams) stream.on('error', () => undefined).destroy();
    }
    expect((await read(key)).equals(bytes)).toBe(true);
  });

  test('the check of a working storage succeeds', async () => {
    await expect(storage.check()).resolves.toBeUndefined();
  });
});

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
