/** Slow readers of large files do not keep the service from serving other requests. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createDownloadLimit, DOWNLOAD_LIMITS } from '../src/http/download-limit.ts';
import { startMedia } from '../src/service.ts';
import { openRaw } from './raw.ts';
import { disconnectAll, FILE_BYTES, large, openFiles, openSlow, slowly } from './slow-readers.ts';
import { fileClient, filesOf, GYM, type Harness, OWNER, openHarness } from './support.ts';

afterEach(disconnectAll);

/** Number of bytes received until the server closes the connection. */
const received = async (socket: Socket): Promise<number> => {
  await new Promise((resolve) =>
    socket.closed ? resolve(undefined) : socket.resume().once('close', resolve),
  );
  return socket.bytesRead;
};

let harness: Harness;
/** A large file. */
let id: number;
beforeAll(async () => {
  harness = await openHarness();
  id = (await harness.upload(OWNER, GYM, large)).body.data.id;
});
afterAll(() => harness.close());

type Replica = ReturnType<typeof fileClient> & { url: string };

/** Another process on the same files, with these limits. */
const withLimits = async (
  limits: Partial<typeof DOWNLOAD_LIMITS>,
  work: (replica: Replica) => Promise<void>,
): Promise<void> => {
  const downloads = { ...DOWNLOAD_LIMITS, slowMs: HOUR_MS, ...limits };
  const { url, close } = await startMedia(harness.config, { clock: harness.clock, downloads });
  try {
    await work({ url, ...fileClient(url) });
  } finally {
    disconnectAll();
    await close();
  }
};
const filesOpen = (): Promise<number> => openFiles('self', harness.config.MEDIA_DIRECTORY);

test('downloads beyond the limit return 503 with Retry-After while none is slow', async () => {
  await withLimits({ max: 3 }, async (replica) => {
    const [first] = await slowly(3, replica.url, id);
    for (const file of [id, `${id}/a.pdf`]) {
      const refused = await replica.download(GUEST, file);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
      expect([refused.headers.get('etag'), refused.headers.get('content-disposition')]).toEqual([null, null]);
    }
    expect((await replica.download(GUEST, id, {}, 'HEAD')).status).toBe(200);
    expect((await replica.download(GUEST, id, { 'if-none-match': '*' })).status).toBe(304);
    const gym = harness.newGym();
    expect((await replica.upload(OWNER, gym)).status).toBe(201);
    expect(await filesOf(harness, [gym])).toHaveLength(1);
    first?.destroy();
    await eventually(async () => (await replica.download(GUEST, id, { range: 'bytes=0-1' })).status === 206);
  });
});

test('clients that disconnect during a download leave no file open', async () => {
  await withLimits({}, async (replica) => {
    const path = `/api/v1/media/${id}`;
    const ranges = ['range: bytes=0-9999999', 'range: bytes=0-4000000,5000000-9000000'];
    const sockets = await Promise.all(
      ranges.map((range) => openRaw(replica.url, { as: GUEST, method: 'GET', path, headers: [range] })),
    );
    await eventually(() => sockets.every((socket) => socket.readableLength > 0));
    expect(await filesOpen()).toBe(2);
    for (const socket of sockets) socket.destroy();
    await eventually(async () => (await filesOpen()) === 0);
  });
});

test('a slow download is ended at the limit, and the newcomer is not refused', async () => {
  await withLimits({ max: 3, slowMs: 300 }, async (replica) => {
    const sockets = await slowly(3, replica.url, id);
    const small = (await replica.upload(OWNER, GYM)).body.data.id;
    await eventually(async () => (await replica.download(GUEST, small)).status === 200);
    await eventually(async () => (await filesOpen()) === 2);
    expect(await Promise.race(sockets.map(received))).toBeLessThan(FILE_BYTES);
  });
});

describe('several downloads at the limit', () => {
  const slowMs = 500;
  const limitDownload = createDownloadLimit({ ...DOWNLOAD_LIMITS, max: 3, slowMs });
  const ended: string[] = [];
  const bytesEach5Ms = (path: string): number => {
    if (path === '/newcomer') return 0;
    return path.startsWith('/fast') ? 64 * 1024 : 1;
  };
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const send = async (): Promise<void> => {
      response.once('close', () => ended.push(path));
      response.write('begins');
      if (path === '/newcomer') return void response.end();
      if (path === '/stalled') return;
      const writing = setInterval(() => response.write(Buffer.alloc(bytesEach5Ms(path))), 5);
      response.once('close', () => clearInterval(writing));
    };
    await limitDownload({ raw: response }, send).catch(() => response.writeHead(503).end());
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test('the download with the least progress is ended, and a fast one continues', async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const open = async (path: string): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
      answer.body?.pipeTo(new WritableStream()).catch(() => undefined);
      return answer.status;
    };
    const enter = () => eventually(async () => (await open('/newcomer')) === 200);
    for (const path of ['/fast/1', '/slow', '/stalled']) expect(await open(path)).toBe(200);
    // The first period of the last download must have ended: before that, only the others have a known progress. Timers of one
    // process fire in order, so this one fires after it.
    await pause(2 * slowMs);
    await enter();
    await eventually(() => ended.length === 2);
    expect(ended.toSorted()).toEqual(['/newcomer', '/stalled']);
    expect(await open('/fast/2')).toBe(200);
    await enter();
    await eventually(() => ended.length === 4);
    expect(ended.slice(2).toSorted()).toEqual(['/newcomer', '/slow']);
  });
});

test('refused, failed and interrupted downloads do not count towards the limit', async () => {
  await withLimits({ max: 2 }, async (replica) => {
    const lost = (await replica.upload(OWNER, GYM)).body.data.id;
    await harness.connection
      .collection<{ _id: number }>('media')
      .updateOne({ _id: lost }, { $set: { storage_key: '00000000-0000-4000-8000-000000000000' } });
    for (let round = 0; round < 2; round += 1) {
      expect((await replica.download(GUEST, lost)).status).toBe(404);
      const sockets = await slowly(2, replica.url, id);
      for (const socket of sockets) socket.destroy();
      await eventually(async () => (await replica.download(GUEST, lost)).status === 404);
      // Disconnect before the response.
      for (let n = 0; n < 5; n += 1) {
        const path = `/api/v1/media/${id}`;
        const socket = await openRaw(replica.url, { as: GUEST, method: 'GET', path });
        await pause(n);
        socket.resetAndDestroy();
      }
      await eventually(async () => {
        const ranges = [1, 2].map(() => replica.download(GUEST, id, { range: 'bytes=0-1' }));
        return (await Promise.all(ranges)).every(({ status }) => status === 206);
      });
    }
  });
});

test('a client that stops reading is disconnected, and its file is closed', async () => {
  await withLimits({ stalledMs: 300 }, async (replica) => {
    const sockets = await slowly(5, replica.url, id);
    await eventually(async () => (await filesOpen()) === 0);
    for (const socket of sockets) expect(await received(socket)).toBeLessThan(FILE_BYTES);
  });
});

test('a client that reads too slowly is disconnected at the deadline of a download', async () => {
  await withLimits({ deadlineMs: 500 }, async (replica) => {
    const socket = await openSlow(replica.url, id);
    const trickle = setInterval(() => socket.read(16 * 1024), 20);
    await eventually(async () => (await filesOpen()) === 0);
    clearInterval(trickle);
    expect(await received(socket)).toBeLessThan(FILE_BYTES);
  });
});

test('the default limits disconnect a stalled client after a minute, and any other after 15', () => {
  expect(DOWNLOAD_LIMITS).toEqual({
    max: 1_000,
    stalledMs: 60_000,
    deadlineMs: 900_000,
    slowMs: 10_000,
    minBytesPerS: 16_384,
  });
});
