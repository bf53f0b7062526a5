/** Sent pieces of a file do not wait in memory for the garbage collector, and nobody receives wrong bytes. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createLocalStorage } from '../src/clients/local-storage.ts';
import type { Storage } from '../src/clients/storage.ts';
import { openRaw } from './raw.ts';
import { FILE_BYTES } from './slow-readers.ts';
import { GYM, type Harness, OWNER, openHarness, pdf } from './support.ts';

/** Random content, so no two pieces are equal. */
const content = Buffer.concat([pdf(100), randomBytes(FILE_BYTES - 100)]);
/** The pieces that the storage has read, kept even after the service has dropped them. */
const pieces: Buffer[] = [];
const inMemory = (): number => pieces.reduce((sum, { length }) => sum + length, 0);
const MOST_IN_MEMORY = 64 * 1024;

let directory: string;
let harness: Harness;
let id: number;

const withPieces = (storage: Storage): Storage => ({
  ...storage,
  open: async (...of) => {
    const source = await storage.open(...of);
    const push = source.push.bind(source);
    source.push = (piece: Buffer | null) => {
      if (piece !== null) pieces.push(piece);
      return push(piece);
    };
    return source;
  },
});

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'media-'));
  harness = await openHarness({}, { storage: withPieces(await createLocalStorage(directory)) });
  id = (await harness.upload(OWNER, GYM, content)).body.data.id;
});
beforeEach(() => {
  pieces.length = 0;
});
afterAll(async () => {
  await harness.close();
  await rm(directory, { recursive: true });
});

test('one piece of a file is in memory after a quick reader has received it', async () => {
  const answer = await harness.download(GUEST, id);
  expect(content.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true);
  expect(pieces.length).toBeGreaterThan(100);
  expect(inMemory()).toBeLessThan(MOST_IN_MEMORY);
});

test('one piece waits for a reader that stops, and the reader gets the whole file later', async () => {
  const headers = ['connection: close'];
  const socket = await openRaw(harness.url, {
    as: GUEST,
    method: 'GET',
    path: `/api/v1/media/${id}`,
    headers,
  });
  let read = -1;
  // Wait until the buffers of the system are full.
  await eventually(async () => {
    const before = read;
    read = pieces.length;
    await pause(100);
    return read > 0 && read === before;
  });
  expect(inMemory()).toBeLessThan(MOST_IN_MEMORY);
  const answer = await buffer(socket);
  expect(answer.subarray(answer.indexOf('\r\n\r\n') + 4).equals(content)).toBe(true);
  expect(inMemory()).toBeLessThan(MOST_IN_MEMORY);
});

test('several ranges arrive unchanged', async () => {
  const half = FILE_BYTES / 2;
  const answer = await harness.download(GUEST, id, { range: `bytes=5-${half},${half + 7}-` });
  const body = Buffer.from(await answer.arrayBuffer());
  expect(answer.status).toBe(206);
  const first = content.subarray(5, half + 1);
  const from = body.indexOf(content.subarray(5, 100));
  expect(body.subarray(from, from + first.length).equals(first)).toBe(true);
  expect(body.includes(content.subarray(half + 7))).toBe(true);
});
