/** An upload that is interrupted or cannot be stored does not affect the process or other uploads. */
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { dropDatabase, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { MediaConfig } from '../src/config.ts';
import { type Child, startChild } from './child.ts';
import { openRaw, readAnswer } from './raw.ts';
import { fileClient, filesIn, GYM, MEBIBYTE, mediaConfig, OWNER, pdf, startStubServices } from './support.ts';

let stubs: GrpcServer;
let config: MediaConfig;
let child: Child;
let ended = false;
beforeAll(async () => {
  stubs = (await startStubServices()).server;
  config = mediaConfig(stubs.address, await mkdtemp(join(tmpdir(), 'media-')));
  child = await startChild(config);
  void child.exited.then(() => {
    ended = true;
  });
});
afterAll(async () => {
  await child.kill();
  await stubs.close();
  await dropDatabase(config);
  await rm(config.MEDIA_DIRECTORY, { recursive: true });
});

const part = (name: string, content: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--x\r\ncontent-disposition: form-data; name="${name}"; filename="a"\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ]);
const HTML = Buffer.alloc(100_000, '<p>');
const send = (body: Buffer) =>
  openRaw(child.url, {
    as: OWNER,
    headers: ['content-type: multipart/form-data; boundary=x', 'content-length: 20000000'],
    body: [body],
  });

test.each<[string, Buffer]>([
  ['a file that was refused at its first bytes', part('file', HTML).subarray(0, 60_000)],
  ['a file that was refused, and another', Buffer.concat([part('file', HTML), part('file', pdf(MEBIBYTE))])],
  ['a second file', Buffer.concat([part('file', pdf(1_000)), part('file', pdf(MEBIBYTE))])],
  ['a file in an unknown field', part('other', pdf(MEBIBYTE)).subarray(0, 500_000)],
  [
    'a field with a forbidden name',
    Buffer.concat([part('__proto__', pdf(MEBIBYTE)), part('file', pdf(MEBIBYTE))]),
  ],
])('a client that disconnects after %s does not end the process', async (_name, body) => {
  for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
    const socket = await send(body);
    await readAnswer(socket, { timeoutMs: 500 }).catch(() => undefined);
    socket[leave]();
  }
  // Disconnect before the response, at different moments.
  for (let moment = 0; moment < 60; moment += 1) {
    const socket = await send(body);
    await pause(moment / 10);
    socket.resetAndDestroy();
  }
  expect((await fileClient(child.url).upload(OWNER, GYM)).status).toBe(201);
  await eventually(async () => (await filesIn(join(config.MEDIA_DIRECTORY, 'arriving'))).length === 0);
  expect(ended).toBe(false);
});

test('a client that is still sending gets 503 if the disk fails, and its connection stays usable', async () => {
  const [spool, away] = [join(config.MEDIA_DIRECTORY, 'arriving'), join(config.MEDIA_DIRECTORY, 'away')];
  await rename(spool, away);
  const body = Buffer.concat([part('file', pdf(8 * MEBIBYTE)), Buffer.from('--x--\r\n')]);
  const socket = await openRaw(child.url, {
    as: OWNER,
    headers: ['content-type: multipart/form-data; boundary=x', `content-length: ${body.length}`],
    body: [body],
  });
  const { status } = await readAnswer(socket);
  await rename(away, spool);
  expect(status).toBe(503);
  socket.write('GET /health/live HTTP/1.1\r\nhost: media\r\n\r\n');
  expect((await readAnswer(socket)).status).toBe(200);
  socket.destroy();
  expect((await fileClient(child.url).upload(OWNER, GYM)).status).toBe(201);
});
