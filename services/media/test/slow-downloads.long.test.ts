import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { apiClient, dropDatabase, eventually } from '@fitness/shared/testing/harness.ts';
import { afterEach, expect, test } from '@jest/globals';
import { startChild } from './child.ts';
import { disconnectAll, FILE_BYTES, large, openFiles, slowly } from './slow-readers.ts';
import { fileClient, GYM, mediaConfig, OWNER, pdf, startStubServices } from './support.ts';

afterEach(disconnectAll);

test('200 slow downloads do not delay other requests, with limited memory and descriptors', async () => {
  const { server } = await startStubServices();
  const config = mediaConfig(server.address, await mkdtemp(join(tmpdir(), 'media-')));
  const child = await startChild(config);
  const { upload, download } = fileClient(child.url);
  const { id } = (await upload(OWNER, GYM, large)).body.data;
  // The warm-up keeps compiled code and open connections out of the measurement.
  await (await download(GUEST, id)).arrayBuffer();
  const before = child.memory().now;
  child.resetPeak();
  for (let n = 0; n < 200; n += 10) await slowly(10, child.url, id);
  expect(await openFiles(child.pid, config.MEDIA_DIRECTORY)).toBe(200);
  for (let round = 0; round < 5; round += 1) {
    const small = await upload(OWNER, GYM, pdf(1_000));
    expect(small.status).toBe(201);
    expect((await download(GUEST, small.body.data.id)).status).toBe(200);
    expect((await (await download(GUEST, id)).arrayBuffer()).byteLength).toBe(FILE_BYTES);
    expect((await download(GUEST, id, { range: 'bytes=5-9' })).status).toBe(206);
    const removed = await apiClient('media', child.url)('DELETE', `/media/${small.body.data.id}`, {
      as: OWNER,
    });
    expect(removed.status).toBe(204);
    expect((await fetch(`${child.url}/health/live`)).status).toBe(200);
  }
  // One MiB for each download, whereas the files together have 2,400 MiB.
  expect(child.memory().peak - before).toBeLessThan(200);
  disconnectAll();
  await eventually(async () => (await openFiles(child.pid, config.MEDIA_DIRECTORY)) === 0);
  await child.kill();
  await server.close();
  await dropDatabase(config);
  await rm(config.MEDIA_DIRECTORY, { recursive: true });
});
