import { type Caller, GUEST } from '@fitness/shared/kernel/caller.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { appCaller, gatewayContext, restrictedCaller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openRaw } from './raw.ts';
import {
  DRAFT,
  GYM,
  type Harness,
  holder,
  INACTIVE_GYM,
  INACTIVE_SERVICE,
  OWNER,
  openHarness,
  PNG,
  POST,
  pdf,
  SERVICE,
  STRANGER,
  userTarget,
  VIEWER,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const uploaded = async (
  fields: Record<string, string | number> = harness.newGym(),
  content: Buffer = PNG,
  name = 'a.png',
): Promise<number> => {
  const { status, body } = await harness.upload(OWNER, fields, content, name);
  if (status !== 201) throw new Error(`not uploaded: ${status} ${JSON.stringify(body)}`);
  return body.data.id;
};
const statusesFor = (id: number, ...callers: Caller[]): Promise<number[]> =>
  Promise.all(callers.map(async (as) => (await harness.download(as, id)).status));
const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

describe('who may download a file (specification 4.3, rule 1)', () => {
  test.each<[string, Permission, Record<string, string | number>]>([
    ['an inactive gym', 'gyms.update', INACTIVE_GYM],
    ['a draft', 'posts.view', DRAFT],
    ['an inactive training service', 'training_services.create', INACTIVE_SERVICE],
  ])(
    'files of %s need a permission of the owner’s restricted or OAuth token: %s',
    async (_name, permission, target) => {
      const id = await uploaded(target);
      const others = [...OWNER.permissions].filter((one) => one !== permission);
      for (const token of [restrictedCaller, appCaller]) {
        expect(await statusesFor(id, token(7), token(7, ...others), token(7, permission))).toEqual([
          403, 403, 200,
        ]);
        expect((await harness.upload(token(7, ...OWNER.permissions), target)).status).toBe(403);
      }
    },
  );

  test.each<[string, Record<string, string | number>]>([
    ['an active gym', GYM],
    ['a profile', userTarget(7)],
    ['a published post', POST],
    ['an active training service', SERVICE],
  ])('everyone may download the files of %s', async (_name, target) => {
    expect(await statusesFor(await uploaded(target), GUEST, STRANGER, OWNER)).toEqual([200, 200, 200]);
  });

  test.each<[string, Record<string, string | number>, Caller]>([
    ['an inactive gym', INACTIVE_GYM, holder(9, 'gyms.view_all')],
    ['a draft', DRAFT, holder(9, 'posts.view_all')],
    ['an inactive training service', INACTIVE_SERVICE, holder(9, 'training_services.update_any')],
  ])(
    'files of %s return 401 for a guest, 403 without view permission, and 200 for the owner',
    async (_name, target, viewer) => {
      const id = await uploaded(target);
      const others = holder(10, 'users.view_all', 'payments.view_all');
      expect(await statusesFor(id, GUEST, STRANGER, others, OWNER, viewer)).toEqual([
        401, 403, 403, 200, 200,
      ]);
    },
  );

  test('files of a training service are hidden while its seller’s deletion is pending', async () => {
    const id = await uploaded(SERVICE);
    const profile = await uploaded(userTarget(7));
    harness.stubs.hidden.pending.add(7);
    expect(await statusesFor(id, GUEST, STRANGER, holder(9, 'gyms.view_all'), OWNER, VIEWER)).toEqual([
      401, 403, 403, 200, 200,
    ]);
    expect(await statusesFor(profile, GUEST, STRANGER)).toEqual([200, 200]);
    harness.stubs.up.identity = false;
    expect(await statusesFor(id, GUEST, OWNER)).toEqual([503, 503]);
    harness.stubs.up.identity = true;
    harness.stubs.hidden.pending.delete(7);
    harness.stubs.hidden.gone.add(7);
    expect(await statusesFor(id, GUEST, VIEWER)).toEqual([404, 404]);
    harness.stubs.hidden.gone.delete(7);
    expect(await statusesFor(id, GUEST)).toEqual([200]);
  });

  test('deactivating a gym hides its files at once, because every download asks its service', async () => {
    const id = await uploaded(GYM);
    const { etag } = Object.fromEntries((await harness.download(GUEST, id)).headers);
    harness.stubs.gyms.set(1, { active: false, ownerId: 7 });
    const cached = await harness.download(GUEST, id, { 'if-none-match': etag ?? '' });
    const part = await harness.download(STRANGER, id, { range: 'bytes=0-1' });
    harness.stubs.gyms.set(1, { active: true, ownerId: 8 });
    harness.stubs.calls.length = 0;
    expect([cached.status, part.status]).toEqual([401, 403]);
    expect(await statusesFor(id, GUEST, STRANGER)).toEqual([200, 200]);
    expect(harness.stubs.calls).toEqual(['GetGyms', 'GetGyms']);
    harness.stubs.gyms.set(1, { active: true, ownerId: 7 });
  });

  test('a file returns 404 after the deletion of its target, even before the event is consumed', async () => {
    harness.stubs.gyms.set(50, { active: true, ownerId: 7 });
    const id = await uploaded({ ...GYM, attachable_id: 50 });
    harness.stubs.gyms.delete(50);
    expect(await statusesFor(id, GUEST, OWNER, VIEWER)).toEqual([404, 404, 404]);
    expect((await harness.send('DELETE', `/media/${id}`, { as: OWNER })).status).toBe(404);
  });

  test('a file returns 503 for everyone while the target’s service is down', async () => {
    const id = await uploaded();
    harness.stubs.up.gyms = false;
    expect(await statusesFor(id, GUEST, OWNER)).toEqual([503, 503]);
    harness.stubs.up.gyms = true;
  });

  // hostile-downloads.test.ts has more invalid ids.
  test('an unknown or invalid file id returns 404 for everyone', async () => {
    for (const id of ['424242', 'abc'])
      for (const as of [GUEST, OWNER, VIEWER])
        expect((await harness.send('GET', `/media/${id}`, { as })).status).toBe(404);
  });
});

describe('the response', () => {
  test('downloads that a client requests at once over one connection are all sent', async () => {
    const path = `/api/v1/media/${await uploaded()}`;
    const context = `${CALLER_HEADER}: ${gatewayContext('media', GUEST)}`;
    const second = ['', `GET ${path} HTTP/1.1`, 'host: media', context, 'connection: close'];
    const socket = await openRaw(harness.url, { as: GUEST, method: 'GET', path, headers: second });
    socket.setTimeout(5_000, () => socket.destroy());
    const answers = Buffer.concat(await socket.toArray()).toString('latin1');
    expect(answers.match(/HTTP\/1.1 200 OK/g)).toHaveLength(2);
  });

  test('a file is an attachment that browsers do not execute, sniff, or cache without revalidation', async () => {
    const id = await uploaded();
    const [row] = await harness.rows({ _id: id });
    const response = await harness.download(GUEST, id);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(row?.size),
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': `attachment; filename="a.png"; filename*=UTF-8''a.png`,
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
      'x-content-type-options': 'nosniff',
    });
  });

  test.each([
    ['مجوز باشگاه ۱۴۰۴.pdf', 'مجوز باشگاه ۱۴۰۴.pdf'],
    ['Straße & «café» 💪.jpg', 'Straße & «café» 💪.jpg'],
    ["it's (100%) *new*.png", "it's (100%) *new*.png"],
  ])('the file name %s is sent in an ASCII header', async (name, expected) => {
    const id = await uploaded(harness.newGym(), PNG, name);
    const header = (await harness.download(GUEST, id)).headers.get('content-disposition') ?? '';
    const [, fallback, encoded] =
      /^attachment; filename="([^"\\]*)"; filename\*=UTF-8''(.+)$/.exec(header) ?? [];
    expect(fallback).toMatch(/^[\x20-\x7e]+$/);
    expect(encoded).toMatch(/^(?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})+$/);
    expect(decodeURIComponent(encoded ?? '')).toBe(expected);
  });

  test('the name in the URL is cosmetic and never part of a file path', async () => {
    const id = await uploaded();
    for (const name of ['other.html', '../../etc/passwd', '%', 'x'.repeat(500), 'مجوز']) {
      const named = await harness.send('GET', `/media/${id}/${encodeURIComponent(name)}`);
      expect([named.status, named.headers.get('content-type')]).toEqual([200, 'image/png']);
    }
    // GET /media/:id/:filename
    expect((await harness.send('GET', `/media/424242/a.png`)).status).toBe(404);
  });

  test('a download returns 404 when the stored file is missing', async () => {
    const id = await uploaded();
    await harness.connection
      .collection<{ _id: number }>('media')
      .updateOne({ _id: id }, { $set: { storage_key: '00000000-0000-4000-8000-000000000000' } });
    expect((await harness.download(GUEST, id)).status).toBe(404);
  });
});

describe('conditions and HEAD', () => {
  const content = pdf(100_000);
  let id: number;
  let etag: string;
  beforeAll(async () => {
    id = await uploaded(harness.newGym(), content);
    etag = (await harness.download(GUEST, id)).headers.get('etag') ?? '';
  });

  test('equal bytes have equal ETags, and different bytes have different ones', async () => {
    const [same, other] = [await uploaded(POST, content), await uploaded(POST, pdf(100_000, 8))];
    expect((await harness.download(GUEST, same)).headers.get('etag')).toBe(etag);
    expect((await harness.download(GUEST, other)).headers.get('etag')).not.toBe(etag);
  });

  test.each([
    ['the ETag', (tag: string) => tag, 304],
    ['another ETag', () => '"x"', 200],
  ])('If-None-Match is compared with the ETag: %s', async (_name, header, status) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await harness.download(GUEST, id, { 'if-none-match': header(etag) }, method);
      expect([answer.status, answer.headers.get('etag')]).toEqual([status, etag]);
      if (status === 304) expect((await bytesOf(answer)).length).toBe(0);
    }
  });

  test('HEAD has the headers of GET without ranges, and no body', async () => {
    for (const headers of [{}, { range: 'bytes=0-1' }, { range: 'bytes=x' }]) {
      const head = await harness.download(GUEST, id, headers as Record<string, string>, 'HEAD');
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(content.length)]);
      expect(head.headers.get('content-disposition')).toContain('attachment');
      expect((await bytesOf(head)).length).toBe(0);
    }
  });

  test('HEAD is refused like GET', async () => {
    const hidden = await uploaded(INACTIVE_GYM);
    const statuses = await Promise.all(
      [GUEST, STRANGER, OWNER].map(async (as) => (await harness.download(as, hidden, {}, 'HEAD')).status),
    );
    expect(statuses).toEqual([401, 403, 200]);
  });
});

describe('ranges', () => {
  const content = Buffer.from(pdf(1_000, 0).map((byte, index) => (index < 100 ? byte : index % 251)));
  let id: number;
  let etag: string;
  beforeAll(async () => {
    id = await uploaded(harness.newGym(), content);
    etag = (await harness.download(GUEST, id)).headers.get('etag') ?? '';
  });

  test.each([
    ['bytes=0-0', 0, 0],
    ['bytes=100-199', 100, 199],
    ['bytes=500-5000', 500, 999],
  ])('the range %s returns 206 with those bytes', async (range, start, end) => {
    const part = await harness.download(GUEST, id, { range });
    expect([part.status, part.headers.get('content-range'), part.headers.get('content-length')]).toEqual([
      206,
      `bytes ${start}-${end}/1000`,
      String(end - start + 1),
    ]);
    expect(await bytesOf(part)).toEqual(content.subarray(start, end + 1));
  });

  test('several ranges return 206 multipart/byteranges, each with a Content-Range', async () => {
    const answer = await harness.download(GUEST, id, { range: 'bytes=200-299, 0-9, -10' });
    const [, boundary] =
      /^multipart\/byteranges; boundary=(\w+)$/.exec(answer.headers.get('content-type') ?? '') ?? [];
    const body = await bytesOf(answer);
    expect([answer.status, answer.headers.get('content-length')]).toEqual([206, String(body.length)]);
    const piece = (start: number, end: number): Buffer =>
      Buffer.concat([
        Buffer.from(
          `\r\n--${boundary}\r\ncontent-type: application/pdf\r\ncontent-range: bytes ${start}-${end}/1000\r\n\r\n`,
        ),
        content.subarray(start, end + 1),
      ]);
    const end = Buffer.from(`\r\n--${boundary}--\r\n`);
    expect(body).toEqual(Buffer.concat([piece(200, 299), piece(0, 9), piece(990, 999), end]));
  });

  test.each(['bytes=1000-', 'bytes=9-0'])('the range %s is rejected with 416 and the size', async (range) => {
    const answer = await harness.download(GUEST, id, { range });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, 'bytes */1000']);
  });

  test('a range with an unknown unit is ignored', async () => {
    const answer = await harness.download(GUEST, id, { range: 'pages=1-2' });
    expect([answer.status, (await bytesOf(answer)).length]).toEqual([200, 1_000]);
  });

  test.each([
    ['the ETag', (tag: string) => tag, 206],
    ['a weak ETag', (tag: string) => `W/${tag}`, 200],
    ['another ETag', () => '"x"', 200],
    ['a date', () => 'Thu, 15 Jan 2026 10:00:00 GMT', 200],
  ])('If-Range decides whether a range applies: %s', async (_name, header, status) => {
    const answer = await harness.download(GUEST, id, { range: 'bytes=0-1', 'if-range': header(etag) });
    expect([answer.status, (await bytesOf(answer)).length]).toEqual([status, status === 206 ? 2 : 1_000]);
  });
});

describe('deletion', () => {
  test('a deletion by the owner deletes row and file, and publishes an event', async () => {
    const before = await harness.filesOnDisk();
    const id = await uploaded();
    expect((await harness.send('DELETE', `/media/${id}`, { as: STRANGER })).status).toBe(403);
    expect((await harness.send('DELETE', `/media/${id}`)).status).toBe(401);
    expect((await harness.send('DELETE', `/media/${id}`, { as: OWNER })).status).toBe(204);
    expect(await harness.filesOnDisk()).toEqual(before);
    expect((await harness.send('GET', `/media/${id}`)).status).toBe(404);
    expect((await harness.send('DELETE', `/media/${id}`, { as: OWNER })).status).toBe(404);
    const published = await harness.tap.waitFor('media.media.deleted', {
      matches: (event) => event.subject === String(id),
    });
    expect(published.aggregateversion).toBe(2);
  });

  test('a deletion needs the permission to edit the target, even for the owner’s token', async () => {
    const id = await uploaded();
    expect((await harness.send('DELETE', `/media/${id}`, { as: holder(7, 'posts.create') })).status).toBe(
      403,
    );
    expect((await harness.send('DELETE', `/media/${id}`, { as: holder(9, 'gyms.update_any') })).status).toBe(
      204,
    );
  });

  test('one of twenty concurrent deletions succeeds, and one event is published', async () => {
    const id = await uploaded();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => harness.send('DELETE', `/media/${id}`, { as: OWNER })),
    );
    const statuses = answers.map((answer) => answer.status);
    expect([204, 404].map((status) => statuses.filter((one) => one === status).length)).toEqual([1, 19]);
    const last = await uploaded();
    await harness.send('DELETE', `/media/${last}`, { as: OWNER });
    await harness.tap.waitFor('media.media.deleted', { matches: (event) => event.subject === String(last) });
    const published = harness.tap.events.filter(
      ({ type, subject }) => type === 'media.media.deleted' && subject === String(id),
    );
    expect(published).toHaveLength(1);
  });
});
