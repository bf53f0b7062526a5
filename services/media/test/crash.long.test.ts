/** A crash at any step leaves no row without its file and, after the next sweep, no file without a row. */
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { apiClient, dropDatabase, eventually } from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createSweepFiles } from '../src/app/sweep-files.ts';
import { createLocalStorage } from '../src/clients/local-storage.ts';
import type { MediaConfig } from '../src/config.ts';
import type { MediaRow } from '../src/domain/media.ts';
import { createStore } from '../src/store/store.ts';
import type { Step } from './crash-process.ts';
import {
  fileClient,
  filesIn,
  GYM,
  mediaConfig,
  OWNER,
  PNG,
  pdf,
  type StubServices,
  startStubServices,
} from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const PROGRAM = fileURLToPath(new URL('./crash-process.ts', import.meta.url));
const LICENSE = { ...GYM, purpose: 'gym_license' };
const content = pdf(3_000_000);

let stubs: StubServices;
let server: GrpcServer;
let config: MediaConfig;
let connection: Connection;
let crashing: CrashTestProcess;

beforeAll(async () => {
  ({ stubs, server } = await startStubServices());
});
afterAll(() => server.close());
beforeEach(async () => {
  config = mediaConfig(server.address, await mkdtemp(join(tmpdir(), 'media-')));
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
});
afterEach(async () => {
  stubs.before = () => undefined;
  await crashing.kill();
  await connection.close();
  await dropDatabase(config);
  await rm(config.MEDIA_DIRECTORY, { recursive: true });
});

const start = async (program: string, changes: Partial<MediaConfig> = {}): Promise<string> => {
  crashing = startCrashTestProcess(program, { ...config, ...changes, LOG_LEVEL: 'info' });
  return crashing.url();
};
/** A service with one license document, which crashes at `step` of the next request. */
const startWithLicense = async (step?: Step): Promise<string> => {
  const url = await start(PROGRAM);
  const { status } = await fileClient(url).upload(OWNER, LICENSE, content);
  expect(status).toBe(201);
  if (step !== undefined) await crashing.ask('dieAt', step);
  return url;
};
const rows = (): Promise<MediaRow[]> => connection.collection<MediaRow>('media').find().toArray();
const keysOnDisk = async (): Promise<string[]> =>
  (await filesIn(config.MEDIA_DIRECTORY)).map((path) => basename(path)).toSorted();
const keysOfRows = async (): Promise<string[]> =>
  (await rows()).flatMap((row) => [row, ...(row.variants ?? [])].map((file) => file.storage_key)).toSorted();
const sweep = async (hoursLater: number): Promise<number> => {
  const storage = await createLocalStorage(config.MEDIA_DIRECTORY);
  const log = createLog({ service: 'test', level: 'silent' });
  return createSweepFiles({
    store: createStore(connection, log),
    storage,
    realTime: new ManualClock(new Date(Date.now() + hoursLater * HOUR_MS)),
    log,
  })();
};
/** Checks what must hold after every crash. */
const expectWhole = async ({ left }: { left: number }): Promise<void> => {
  const placed = (await filesIn(join(config.MEDIA_DIRECTORY, 'files'))).map((path) => basename(path));
  expect(placed).toEqual(expect.arrayContaining(await keysOfRows()));
  // A young file may still get its row.
  expect(await sweep(0)).toBe(0);
  expect(await sweep(2)).toBe(left);
  expect(await keysOnDisk()).toEqual(await keysOfRows());
  expect(await sweep(2)).toBe(0);
};

describe('a crash during an upload that replaces a document', () => {
  test.each<Step>(['receiving', 'before placing', 'after placing'])(
    'the old document remains after a crash at the step: %s',
    async (step) => {
      const url = await startWithLicense(step);
      const before = await rows();
      await expect(fileClient(url).upload(OWNER, LICENSE, content)).rejects.toThrow();
      await crashing.gone;
      expect(await rows()).toEqual(before);
      expect(await keysOnDisk()).toHaveLength(2);
      await expectWhole({ left: 1 });
    },
  );

  test('the new document is stored and served after a crash between the commit and the response', async () => {
    let url = await startWithLicense();
    const [before] = await rows();
    stubs.before = async (method) => {
      if (method === 'AttachLicense') await crashing.kill();
    };
    await expect(fileClient(url).upload(OWNER, LICENSE, content)).rejects.toThrow();
    await crashing.gone;
    const [after, ...others] = await rows();
    expect([others, Number(after?._id) > Number(before?._id)]).toEqual([[], true]);
    await expectWhole({ left: 1 });
    stubs.before = () => undefined;
    url = await start(MAIN);
    expect((await fileClient(url).download(OWNER, Number(after?._id))).status).toBe(200);
  });

  test('the sweep deletes the replaced file after a crash before its deletion', async () => {
    const url = await startWithLicense('before deleting');
    await expect(fileClient(url).upload(OWNER, LICENSE, content)).rejects.toThrow();
    await crashing.gone;
    expect([(await rows()).length, (await keysOnDisk()).length]).toEqual([1, 2]);
    await expectWhole({ left: 1 });
  });
});

describe('a crash while a smaller image is created', () => {
  test.each<Step>(['before placing', 'after placing'])(
    'a smaller image is swept and created again after a crash at the step: %s',
    async (step) => {
      let url = await start(PROGRAM);
      const { body } = await fileClient(url).upload(OWNER, GYM, PNG);
      const small = `${body.data.id}?width=320`;
      await crashing.ask('dieAt', step);
      await expect(fileClient(url).download(OWNER, small)).rejects.toThrow();
      await crashing.gone;
      expect([(await keysOnDisk()).length, (await keysOfRows()).length]).toEqual([2, 1]);
      await expectWhole({ left: 1 });
      url = await start(MAIN);
      expect((await fileClient(url).download(OWNER, small)).status).toBe(200);
      expect((await keysOfRows()).length).toBe(2);
      await expectWhole({ left: 0 });
    },
  );

  test('the sweep deletes a smaller image with the original after a crash before their deletion', async () => {
    const url = await start(PROGRAM);
    const { body } = await fileClient(url).upload(OWNER, GYM, PNG);
    await fileClient(url).download(OWNER, `${body.data.id}?width=320`);
    await crashing.ask('dieAt', 'before deleting');
    await expect(
      apiClient('media', url)('DELETE', `/media/${body.data.id}`, { as: OWNER }),
    ).rejects.toThrow();
    await crashing.gone;
    expect([(await keysOnDisk()).length, await rows()]).toEqual([2, []]);
    await expectWhole({ left: 2 });
  });
});

test('a crash after the deletion of a row leaves a file that is swept', async () => {
  const url = await startWithLicense('before deleting');
  const [row] = await rows();
  await expect(apiClient('media', url)('DELETE', `/media/${row?._id}`, { as: OWNER })).rejects.toThrow();
  await crashing.gone;
  expect([await rows(), await keysOnDisk()]).toEqual([[], [row?.storage_key]]);
  await expectWhole({ left: 1 });
});

test('the job deletes old files without a row', async () => {
  const storage = await createLocalStorage(config.MEDIA_DIRECTORY);
  const url = await start(MAIN);
  await fileClient(url).upload(OWNER, GYM, content);
  const orphan = await storage.receive(Readable.from([Buffer.from(content)]));
  await storage.place(orphan);
  const waiting = await storage.receive(Readable.from([Buffer.from(content)]));
  const long = new Date(Date.now() - 2 * HOUR_MS);
  for (const path of await filesIn(config.MEDIA_DIRECTORY)) await utimes(path, long, long);
  await crashing.kill();
  await start(MAIN, { MEDIA_SWEEP_SECONDS: 1 });
  await eventually(async () => (await keysOnDisk()).length === 1);
  const left = await keysOnDisk();
  expect([left, left.includes(orphan.key), left.includes(waiting.key)]).toEqual([
    await keysOfRows(),
    false,
    false,
  ]);
});
