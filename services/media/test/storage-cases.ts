/** The tests of every storage: on the local disk (storage.test.ts) and in S3 (s3-storage.long.test.ts). */
import { createHash } from 'node:crypto';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Storage } from '../src/clients/storage.ts';
import { FILE_MISSING, type StoredFile } from '../src/domain/media.ts';
import { filesIn, MEBIBYTE } from './support.ts';

export interface Place {
  storage: Storage;
  directory: string;
  /** Stores a file of another program next to the service's files. */
  putForeign(name: string): Promise<void>;
  close(): Promise<void>;
}

export const inDirectory = async (
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

/** Bytes that differ by position, so tests detect a shifted range. */
export const content = (bytes: number, seed = 1): Buffer => {
  const block = createHash('sha512').update(String(seed)).digest();
  const whole = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += block.length) {
    block.writeUInt32LE(at, 0);
    block.copy(whole, at);
  }
  return whole;
};
export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
export const inPieces = (bytes: Buffer, length = 60_000): Readable =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
    })(),
    { objectMode: false },
  );
export const HOUR_MS = 3_600_000;
export const fromNow = (ms: number): Date => new Date(Date.now() + ms);
export const NOT_THERE = '00000000-0000-4000-8000-000000000000';

/** @param open a new storage for these tests */
export const testStorage = (name: string, open: () => Promise<Place>): void =>
  describe(`files on ${name}`, () => {
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

    test.each([
      '../../etc/passwd',
      '',
      'a/b',
      NOT_THERE.toUpperCase().replaceAll('0', 'G'),
      `${NOT_THERE}/..`,
    ])('the string %j is not a key and is rejected', async (key) => {
      await expect(storage.open(key)).rejects.toThrow('not a storage key');
      await expect(storage.delete(key)).rejects.toThrow('not a storage key');
      await expect(storage.place({ key, size: 1, sha256: '' })).rejects.toThrow('not a storage key');
    });

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
