import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CALLER_HEADER, type Caller, GUEST } from '@fitness/shared/caller.ts';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import type { RunningService } from '@fitness/shared/service.ts';
import {
  apiClient,
  caller,
  dropDatabase,
  dropQueues,
  type Send,
  standIn,
  standInService,
  testConfig,
  testSigner,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MediaConfig } from '../src/config.ts';
import { startMedia } from '../src/service.ts';

const GYM = 'App\\Models\\Gyms\\Gym';
const USER = 'App\\Models\\User';
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const owner = caller(7);
const stranger = caller(8);
const operator = caller(9, ['gyms.view_all', 'users.view_all']);
const GYMS: Record<number, boolean> = { 1: true, 2: false };

const toldOf: unknown[] = [];

let service: RunningService;
let others: GrpcServer;
let config: MediaConfig;
let send: Send;

beforeAll(async () => {
  others = await standIn(
    standInService(grpcDefinitions.gyms(), {
      GetGyms: async ({ ids }) => ({
        gyms: ids
          .filter((id) => Object.hasOwn(GYMS, id))
          .map((id) => ({ id, name: 'Gym', user_id: 7, is_active: GYMS[id] === true })),
      }),
      AttachLicense: async (told) => {
        toldOf.push(told);
        return { current: true };
      },
    }),
    standInService(grpcDefinitions.identity(), {
      GetUsers: async ({ ids }) => ({ users: ids.filter((id) => id < 100).map((id) => ({ id })) }),
      AttachLicense: async (told) => {
        if (told.user_id === 32) throw new Error('out of order');
        toldOf.push(told);
        return { current: true };
      },
    }),
  );
  config = {
    ...(testConfig('media') as MediaConfig),
    GYMS_GRPC_ADDRESS: others.address,
    IDENTITY_GRPC_ADDRESS: others.address,
    CONTENT_GRPC_ADDRESS: '127.0.0.1:1',
    MEDIA_DIRECTORY: await mkdtemp(join(tmpdir(), 'media-')),
  };
  service = await startMedia(config);
  send = apiClient(service.url);
});

afterAll(async () => {
  await service.close();
  await others.close();
  await dropDatabase(config);
  await dropQueues(config, 'media');
  await rm(config.MEDIA_DIRECTORY, { recursive: true });
});

const upload = async (
  as: Caller,
  fields: Record<string, string>,
  content: Buffer | undefined = png,
  name = 'a.png',
) => {
  const form = new FormData();
  if (content !== undefined) form.set('file', new Blob([new Uint8Array(content)]), name);
  // Fields behind the file: a client may send them in any order.
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  const response = await fetch(`${service.url}/api/v1/media`, {
    method: 'POST',
    headers: { [CALLER_HEADER]: await testSigner.sign({ from: 'gateway', caller: as }) },
    body: form,
  });
  // biome-ignore lint/suspicious/noExplicitAny: an answer under test has whatever shape it has
  return { status: response.status, body: (await response.json()) as any };
};

const download = async (as: Caller, id: number, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${service.url}/api/v1/media/${id}`, {
    method,
    headers: { [CALLER_HEADER]: await testSigner.sign({ from: 'gateway', caller: as }), ...headers },
  });

const filesOnDisk = async () =>
  (await readdir(config.MEDIA_DIRECTORY, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );

const gymPhoto = { attachable_type: GYM, attachable_id: '1' };

describe('uploading', () => {
  test('the owner gets the resource, and anyone the very bytes', async () => {
    const { status, body } = await upload(owner, gymPhoto, png, 'سالن.png');
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      ...gymPhoto,
      attachable_id: 1,
      mime_type: 'image/png',
      size: png.length,
      purpose: null,
    });
    expect(body.data.link).toBe(
      `http://api.test/api/v1/media/${body.data.id}/${encodeURIComponent('سالن.png')}`,
    );
    const file = await download(GUEST, body.data.id);
    expect(file.status).toBe(200);
    expect(Buffer.from(await file.arrayBuffer())).toEqual(png);
    expect(file.headers.get('content-disposition')).toMatch(/^attachment; /);
    expect(file.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test.each([
    ['HTML under the name of a picture', Buffer.from('<html><script>alert(1)</script></html>')],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['an empty file', Buffer.alloc(0)],
    ['more than 25 MiB', Buffer.concat([png, Buffer.alloc(25 * 1024 * 1024)])],
  ])('%s is 422 under file, and leaves nothing on the disk', async (_name, content) => {
    const before = (await filesOnDisk()).length;
    const { status, body } = await upload(owner, gymPhoto, content);
    expect([status, Object.keys(body.errors)]).toEqual([422, ['file']]);
    expect((await filesOnDisk()).length).toBe(before);
  });

  test.each([
    ['no file', gymPhoto, undefined, 'file'],
    [
      'an unknown type',
      { attachable_type: 'App\\Models\\Nothing', attachable_id: '1' },
      png,
      'attachable_type',
    ],
    ['an unknown target', { attachable_type: GYM, attachable_id: '77' }, png, 'attachable_id'],
    ['an unknown purpose', { ...gymPhoto, purpose: 'passport' }, png, 'purpose'],
    ['a purpose of another target', { ...gymPhoto, purpose: 'trainer_license' }, png, 'purpose'],
  ])('%s is 422 with the field’s name', async (_name, fields, content, field) => {
    const form = new FormData();
    if (content !== undefined) form.set('file', new Blob([new Uint8Array(content)]), 'a.png');
    for (const [key, value] of Object.entries(fields)) form.set(key, value);
    const response = await fetch(`${service.url}/api/v1/media`, {
      method: 'POST',
      headers: { [CALLER_HEADER]: await testSigner.sign({ from: 'gateway', caller: owner }) },
      body: form,
    });
    const body = (await response.json()) as { errors: Record<string, string[]> };
    expect([response.status, Object.keys(body.errors)]).toEqual([422, [field]]);
  });

  test.each([
    ['no boundary', 'multipart/form-data', 'x'],
    ['no part', 'multipart/form-data; boundary=x', 'a=1'],
    ['no end', 'multipart/form-data; boundary=x', '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1'],
    [
      'too many fields',
      'multipart/form-data; boundary=x',
      `${'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(25)}--x--\r\n`,
    ],
  ])('a broken form (%s) is 400', async (_name, type, body) => {
    const response = await fetch(`${service.url}/api/v1/media`, {
      method: 'POST',
      headers: {
        [CALLER_HEADER]: await testSigner.sign({ from: 'gateway', caller: owner }),
        'content-type': type,
      },
      body,
    });
    expect([response.status, await response.json()]).toEqual([400, { message: expect.any(String) }]);
  });

  test('a stranger is 403, a guest 401, JSON is 415', async () => {
    expect((await upload(stranger, gymPhoto)).status).toBe(403);
    expect((await upload(GUEST, gymPhoto)).status).toBe(401);
    expect((await send('POST', '/media', { as: owner, body: gymPhoto })).status).toBe(415);
  });
});

describe('private documents', () => {
  test('a gym licence is for its owner and holders of gyms.view_all; everyone else is 403', async () => {
    const { body } = await upload(owner, { ...gymPhoto, purpose: 'gym_license' });
    const statuses = await Promise.all(
      [owner, operator, stranger, GUEST].map(async (as) => (await download(as, body.data.id)).status),
    );
    expect(statuses).toEqual([200, 200, 403, 403]);
    // Told before the 201: its reader sees the reset at once.
    expect(toldOf).toContainEqual({ gym_id: 1, media_id: body.data.id, filename: 'a.png' });
  });

  test('a cleared licence is deleted, and a newer one is not', async () => {
    const fields = { ...gymPhoto, purpose: 'gym_license' };
    const older = (await upload(owner, fields)).body.data.id;
    const newer = (await upload(owner, fields)).body.data.id;
    const client = createGrpcClient({
      definition: grpcDefinitions.media(),
      address: service.grpcAddress,
      target: 'media',
      from: 'gyms',
      signer: testSigner,
    });
    const target = { attachable_type: GYM, attachable_id: 1 };
    const clear = (upTo: number) =>
      client.call('DeleteByPurpose', { target, purpose: 'gym_license', up_to_media_id: upTo });
    expect(await clear(older)).toEqual({ deleted: false });
    expect((await download(owner, newer)).status).toBe(200);
    expect(await clear(newer)).toEqual({ deleted: true });
    expect((await download(owner, newer)).status).toBe(404);
    client.close();
  });

  test('a trainer licence is for its subject and holders of users.view_all, and only the subject hands it in', async () => {
    const fields = { attachable_type: USER, attachable_id: '7', purpose: 'trainer_license' };
    expect((await upload(caller(9, ['users.update_any']), fields)).status).toBe(403);
    const { body } = await upload(owner, fields);
    const statuses = await Promise.all(
      [owner, operator, stranger, GUEST].map(async (as) => (await download(as, body.data.id)).status),
    );
    expect(statuses).toEqual([200, 200, 403, 403]);
    expect(toldOf).toContainEqual({ user_id: 7, media_id: body.data.id, filename: 'a.png' });
  });

  test('an upload is answered, and its file kept, when identity cannot be told', async () => {
    const fields = { attachable_type: USER, attachable_id: '32', purpose: 'trainer_license' };
    const { status, body } = await upload(caller(32), fields);
    expect(status).toBe(201);
    expect((await download(caller(32), body.data.id)).status).toBe(200);
  });

  test('twenty uploads of one document at once leave one, and one file of it', async () => {
    const fields = { attachable_type: USER, attachable_id: '31', purpose: 'trainer_license' };
    const before = (await filesOnDisk()).length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => upload(caller(31), fields)));
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    const found = await Promise.all(
      answers.map(async ({ body }) => (await download(caller(31), body.data.id)).status),
    );
    expect(found.filter((status) => status === 200)).toHaveLength(1);
    expect(found.filter((status) => status === 404)).toHaveLength(19);
    expect((await filesOnDisk()).length).toBe(before + 1);
  });
});

describe('downloading', () => {
  test('files of an inactive gym: 401 for a guest, 403 for a stranger, 200 for its owner', async () => {
    const { body } = await upload(owner, { attachable_type: GYM, attachable_id: '2' });
    const statuses = await Promise.all(
      [GUEST, stranger, owner, operator].map(async (as) => (await download(as, body.data.id)).status),
    );
    expect(statuses).toEqual([401, 403, 200, 200]);
  });

  test('ETag, one range and HEAD', async () => {
    const { body } = await upload(owner, gymPhoto);
    const { id } = body.data;
    const etag = (await download(GUEST, id)).headers.get('etag') ?? '';
    expect((await download(GUEST, id, { 'if-none-match': etag })).status).toBe(304);
    const part = await download(GUEST, id, { range: 'bytes=2-5' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 2-5/${png.length}`]);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(png.subarray(2, 6));
    expect((await download(GUEST, id, { range: 'bytes=9999-' })).status).toBe(416);
    const head = await download(GUEST, id, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(png.length)]);
  });

  test('an unknown id, or one that is no number, is 404', async () => {
    expect((await send('GET', '/media/424242')).status).toBe(404);
    expect((await send('GET', '/media/..%2f..%2fetc')).status).toBe(404);
  });

  test('the name in the path is cosmetic, and no path is built from it', async () => {
    const { body } = await upload(owner, gymPhoto);
    // GET /media/:id/:filename
    const named = await send('GET', `/media/${body.data.id}/${encodeURIComponent('../../etc/passwd')}`);
    expect([named.status, named.headers.get('content-type')]).toEqual([200, 'image/png']);
  });

  test('the owner deletes a file, a stranger does not', async () => {
    const { body } = await upload(owner, gymPhoto);
    const before = (await filesOnDisk()).length;
    expect((await send('DELETE', `/media/${body.data.id}`, { as: stranger })).status).toBe(403);
    expect((await send('DELETE', `/media/${body.data.id}`, { as: owner })).status).toBe(204);
    expect((await send('GET', `/media/${body.data.id}`)).status).toBe(404);
    expect((await send('DELETE', `/media/${body.data.id}`, { as: owner })).status).toBe(404);
    expect((await filesOnDisk()).length).toBe(before - 1);
  });

  test('an owner that does not answer is 503, never a yes', async () => {
    const { body } = await upload(owner, gymPhoto);
    await others.close();
    try {
      expect((await download(GUEST, body.data.id)).status).toBe(503);
    } finally {
      others = await standIn();
    }
  });
});
