import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import multipart from '@fastify/multipart';
import { GUEST, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { eventually, gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Fastify from 'fastify';
import sharp from 'sharp';
import { MAX_FILE_BYTES } from '../src/domain/file-types.ts';
import { readUpload } from '../src/http/read-upload.ts';
import { photo, withChunk } from './images.ts';
import { openRaw } from './raw.ts';
import {
  DRAFT,
  filesOf,
  GYM,
  type Harness,
  holder,
  INACTIVE_GYM,
  OWNER,
  openHarness,
  PNG,
  POST,
  pdf,
  SERVICE,
  STRANGER,
  userTarget,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const fieldsOf = ({ body }: { body: { errors?: object } }): string[] => Object.keys(body.errors ?? {});

// file-types.test.ts has more types and signatures.
const ACCEPTED: [string, Buffer][] = [
  ['image/png', PNG],
  ['image/png', withChunk(PNG, 'tEXt', Buffer.from(`Comment\0${'long '.repeat(4_000)}`))],
  // An animated PNG with one frame that repeats forever.
  ['image/png', withChunk(PNG, 'acTL', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]))],
  ['image/jpeg', await photo().jpeg().toBuffer()],
  ['image/gif', await photo().gif().toBuffer()],
  ['image/webp', await photo().webp().toBuffer()],
  ['application/pdf', Buffer.from('%PDF-1.7\n%âãÏÓ\n1 0 obj\n<<>>\nendobj\n')],
  ['video/mp4', Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftyp3gp5'), Buffer.alloc(64)])],
];

const REFUSED: [string, Buffer][] = [
  ['HTML with the name of a picture', Buffer.from('<html><script>alert(1)</script></html>')],
  ['an empty file', Buffer.alloc(0)],
  ['HTML with the brand of an MP4', Buffer.from('<!--ftypisom--><script>alert(1)</script>')],
  ['HTML in ID3 tags before a PNG', Buffer.concat([Buffer.from('ID3\x03\0\0\0\0\0\x08<script>'), PNG])],
];

const WRONG_TYPE = 'Only JPEG, PNG, WebP, GIF, PDF, and MP4 files are accepted.';

describe('file types and sizes', () => {
  test.each(ACCEPTED)('a file of type %s is accepted under any name', async (mimeType, content) => {
    const { status, body } = await harness.upload(OWNER, harness.newGym(), content, 'harmless.txt');
    expect([status, body.data.mime_type]).toEqual([201, mimeType]);
    const file = await harness.download(GUEST, body.data.id);
    const bytes = Buffer.from(await file.arrayBuffer());
    expect([file.headers.get('content-type'), bytes.length]).toEqual([mimeType, body.data.size]);
    if (mimeType.startsWith('image/'))
      expect(`image/${(await sharp(bytes).metadata()).format}`).toBe(mimeType);
    else expect(bytes).toEqual(content);
  });

  test.each(REFUSED)(
    'a refused file is rejected with 422 under file, and nothing stays on the disk: %s',
    async (_name, content) => {
      const before = await harness.filesOnDisk();
      const answer = await harness.upload(OWNER, GYM, content, 'photo.png');
      expect([answer.status, answer.body.errors]).toEqual([
        422,
        { file: [content.length === 0 ? 'This file is empty.' : WRONG_TYPE] },
      ]);
      expect(await harness.filesOnDisk()).toEqual(before);
    },
  );

  test('a file of exactly 25 MiB is accepted, and one byte more is rejected with 422', async () => {
    const largest = await harness.upload(OWNER, GYM, pdf(MAX_FILE_BYTES));
    expect([largest.status, largest.body.data.size]).toEqual([201, 25 * 1024 * 1024]);
    const before = await harness.filesOnDisk();
    const tooLarge = await harness.upload(OWNER, GYM, pdf(MAX_FILE_BYTES + 1));
    expect([tooLarge.status, tooLarge.body.errors]).toEqual([
      422,
      { file: ['This file must be 25 MiB or smaller.'] },
    ]);
    expect(await harness.filesOnDisk()).toEqual(before);
  });
});

describe('the file name', () => {
  const NAME = 'سلام دنیا.pdf';
  const EXTENDED = `filename*=UTF-8''${encodeURIComponent(NAME)}`;
  /** A form whose file has this header. `before` contains the parts before it. */
  const form = (disposition: string, before = '') => {
    const fields = Object.entries(harness.newGym()).map(
      ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    const head = `${before}--b\r\ncontent-disposition: ${disposition}\r\nContent-Type: application/pdf\r\n\r\n`;
    return new Uint8Array(Buffer.from(`${head}%PDF-1.7\n\r\n${fields.join('')}--b--\r\n`));
  };
  const nameOf = async (disposition: string, before = '', boundary = 'b') => {
    const type = `multipart/form-data; boundary=${boundary}`;
    const { status, body } = await harness.post(OWNER, form(disposition, before), type);
    expect([status, body.errors]).toEqual([201, undefined]);
    return body.data.filename;
  };

  test.each([
    ['alone', `form-data; name="file"; ${EXTENDED}`],
    ['after a plain one', `form-data; name="file"; filename="plain.pdf"; ${EXTENDED}`],
    ['before a plain one', `form-data; name="file"; ${EXTENDED}; filename="plain.pdf"`],
    ['before the name', `form-data; ${EXTENDED}; name="file"; filename="plain.pdf"`],
    [
      'as .NET sends it',
      `form-data; name=file; filename="=?utf-8?B?2LPZhA==?="; ${EXTENDED.replace('UTF-8', 'utf-8')}`,
    ],
    ['with a language', `form-data; name="file"; filename="a.pdf"; ${EXTENDED.replace("''", "'fa'")}`],
    [
      'in capitals and with blanks',
      `form-data; name="file"; filename="a.pdf" ; FILENAME* = ${EXTENDED.slice(10)}`,
    ],
  ])('the file name is that of filename*, %s (RFC 6266)', async (_how, disposition) => {
    expect(await nameOf(disposition)).toBe(NAME);
  });

  test('a file name in Latin 1 is decoded as Latin 1', async () => {
    expect(await nameOf(`form-data; name="file"; filename="a.pdf"; filename*=iso-8859-1'en'caf%e9.pdf`)).toBe(
      'café.pdf',
    );
  });

  test.each([
    ['no percent-encoding', "UTF-8''%zz.pdf"],
    ['no UTF-8', "UTF-8''%ff.pdf"],
    ['an unknown charset', "KOI8-R''%c1.pdf"],
    ['no charset', 'name.pdf'],
  ])('the plain file name is used if filename* has %s', async (_what, value) => {
    expect(await nameOf(`form-data; name="file"; filename*=${value}; filename="plain.pdf"`)).toBe(
      'plain.pdf',
    );
  });

  test('the file name is not taken from quotes, other parts, or what follows the file', async () => {
    expect(await nameOf(`form-data; name="file"; filename="a; ${EXTENDED}"`)).not.toBe(NAME);
    const other = `--b\r\nContent-Disposition: form-data; name="other"; filename="o.pdf"; ${EXTENDED}\r\n\r\nx\r\n`;
    const text = '--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nx\r\n';
    expect(await nameOf('form-data; name="file"; filename="plain.pdf"', other)).toBe('plain.pdf');
    expect(await nameOf(`form-data; name="file"; filename="plain.pdf"; ${EXTENDED}`, other + text)).toBe(
      NAME,
    );
    expect(await nameOf(`form-data; name="file"; ${EXTENDED}`, '', '"b"')).toBe(NAME);
  });

  test('a file name from filename* is cleaned like any other', async () => {
    const path = encodeURIComponent('../../etc/\u202epasswd.pdf');
    expect(await nameOf(`form-data; name="file"; filename="a.pdf"; filename*=UTF-8''${path}`)).toBe(
      'passwd.pdf',
    );
  });

  test('finding the file name takes little time for any length of the header', async () => {
    const start = process.cpuUsage();
    await nameOf(`form-data; name="file"; filename="${'\\"'.repeat(20_000)}.pdf`);
    const { user, system } = process.cpuUsage(start);
    expect(user + system).toBeLessThan(1_000_000);
  });
});

describe('the response', () => {
  test('an upload returns the resource, whose file a guest downloads unchanged', async () => {
    const content = pdf(1_000);
    const { status, body } = await harness.upload(OWNER, GYM, content, 'سالن.pdf');
    const { id } = body.data;
    expect([status, body]).toEqual([
      201,
      {
        data: {
          ...GYM,
          id: expect.any(Number),
          link: `http://api.test/api/v1/media/${id}/${encodeURIComponent('سالن.pdf')}`,
          filename: 'سالن.pdf',
          mime_type: 'application/pdf',
          size: content.length,
          purpose: null,
          created_at: '2026-01-15 10:00:00',
        },
      },
    ]);
    const file = await harness.download(GUEST, id);
    expect([file.status, Buffer.from(await file.arrayBuffer())]).toEqual([200, content]);
  });

  test('the alias of the gym type is stored as the gym type', async () => {
    const { body } = await harness.upload(OWNER, { ...GYM, attachable_type: 'App\\Models\\Gym' });
    expect(body.data.attachable_type).toBe('App\\Models\\Gyms\\Gym');
  });

  test('an upload publishes its event', async () => {
    const { body } = await harness.upload(OWNER, GYM);
    const published = await harness.tap.waitFor('media.media.attached', {
      matches: (event) => event.subject === String(body.data.id),
    });
    expect(published.data).toEqual({
      media_id: body.data.id,
      ...GYM,
      purpose: null,
      filename: 'a.png',
      uploaded_by: OWNER.userId,
    });
  });

  test('GetCopies returns a file after the 201, ordered by id, without private documents', async () => {
    const target = userTarget(41);
    const uploaded = [];
    for (const name of ['1.png', '2.png']) uploaded.push(await harness.upload(holder(41), target, PNG, name));
    await harness.upload(holder(41), { ...target, purpose: 'trainer_license' });
    const media = await filesOf(harness, [POST, target]);
    expect(media.map(({ id, filename }) => [id, filename])).toEqual(
      uploaded.map(({ body }) => [body.data.id, body.data.filename]),
    );
  });
});

describe('GetCopies with unusual targets', () => {
  test.each<[string, { attachable_type?: string; attachable_id?: number }[]]>([
    ['nothing', []],
    ['a target without a type', [{}]],
    [
      'invalid types',
      [
        { attachable_type: 'toString', attachable_id: 1 },
        { attachable_type: '$ne', attachable_id: 1 },
      ],
    ],
    ['invalid ids', [-1, 0, Number.MAX_SAFE_INTEGER].map((id) => ({ ...GYM, attachable_id: id }))],
  ])('GetCopies returns no files for %s', async (_name, targets) => {
    expect(await filesOf(harness, targets)).toEqual([]);
  });

  test('GetCopies returns the rows of 50 targets, and refuses 51', async () => {
    const gym = harness.newGym();
    const { body } = await harness.upload(OWNER, gym);
    const targets = Array.from({ length: 50 }, () => gym);
    const { copies } = await harness.grpc.call('GetCopies', { targets });
    for (const { files } of copies) expect(files.filter(({ id }) => id === body.data.id)).toHaveLength(1);
    await expect(harness.grpc.call('GetCopies', { targets: [...targets, gym] })).rejects.toMatchObject({
      kind: 'validation',
    });
  });
});

describe('wrong fields', () => {
  test.each<[string, Record<string, string | number>, Buffer | undefined, string[]]>([
    ['no file', GYM, undefined, ['file']],
    ['no target', {}, PNG, ['attachable_type', 'attachable_id']],
    ['an unknown type', { ...GYM, attachable_type: 'App\\Models\\Nothing' }, PNG, ['attachable_type']],
    ['an inherited name as type', { ...GYM, attachable_type: 'toString' }, PNG, ['attachable_type']],
    ['an id that is not a number', { ...GYM, attachable_id: '1e3' }, PNG, ['attachable_id']],
    ['an id of zero', { ...GYM, attachable_id: 0 }, PNG, ['attachable_id']],
    ['an id beyond the safe integers', { ...GYM, attachable_id: '9'.repeat(16) }, PNG, ['attachable_id']],
    ['an unknown target', { ...GYM, attachable_id: 77 }, PNG, ['attachable_id']],
    ['an unknown purpose', { ...GYM, purpose: 'passport' }, PNG, ['purpose']],
    ['an inherited name as purpose', { ...GYM, purpose: 'constructor' }, PNG, ['purpose']],
    [
      'a purpose of another target and no id',
      { attachable_type: GYM.attachable_type, purpose: 'trainer_license' },
      PNG,
      ['attachable_id', 'purpose'],
    ],
    [
      'an unknown type and a text',
      { ...GYM, attachable_type: 'x' },
      Buffer.from('text'),
      ['file', 'attachable_type'],
    ],
    ['a purpose of another target', { ...GYM, purpose: 'trainer_license' }, PNG, ['purpose']],
    ['a license for a post', { ...POST, purpose: 'gym_license' }, PNG, ['purpose']],
  ])(
    'an upload is rejected with 422 under the name of the field: %s',
    async (_name, fields, content, wrong) => {
      const before = await harness.filesOnDisk();
      const form = new FormData();
      if (content !== undefined) form.set('file', new Blob([new Uint8Array(content)]), 'a.png');
      for (const [field, value] of Object.entries(fields)) form.set(field, String(value));
      const answer = await harness.post(OWNER, form);
      expect([answer.status, fieldsOf(answer)]).toEqual([422, wrong]);
      expect(await harness.filesOnDisk()).toEqual(before);
    },
  );

  test('an upload of two files is rejected with 422, and neither is stored', async () => {
    const before = await harness.filesOnDisk();
    const form = new FormData();
    for (const [field, value] of Object.entries(GYM)) form.set(field, String(value));
    for (const name of ['a.png', 'b.png']) form.append('file', new Blob([new Uint8Array(PNG)]), name);
    const answer = await harness.post(OWNER, form);
    expect([answer.status, answer.body.errors]).toEqual([
      422,
      { file: ['You can upload only one file at a time.'] },
    ]);
    expect(await harness.filesOnDisk()).toEqual(before);
  });

  test('text in the file field is rejected with 422 under file', async () => {
    const answer = await harness.upload(OWNER, { ...GYM, file: 'a.png' }, undefined);
    expect([answer.status, fieldsOf(answer)]).toEqual([422, ['file']]);
  });
});

test('files in other fields and unknown fields are ignored', async () => {
  const form = new FormData();
  form.set('thumbnail', new Blob([new Uint8Array(PNG)]), 'b.png');
  for (const [field, value] of Object.entries({ ...GYM, caption: 'x' })) form.set(field, String(value));
  form.set('file', new Blob([new Uint8Array(PNG)]), 'a.png');
  const { status, body } = await harness.post(OWNER, form);
  expect([status, body.data.filename]).toEqual([201, 'a.png']);
});

describe('malformed forms', () => {
  const part = 'content-disposition: form-data; name="file"; filename="a.png"\r\n\r\n';
  test.each<[string, string, string | Buffer<ArrayBuffer>]>([
    ['no boundary', 'multipart/form-data', 'x'],
    ['no part', 'multipart/form-data; boundary=x', 'a=1'],
    ['no end', 'multipart/form-data; boundary=x', '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1'],
    [
      'an end within the file',
      'multipart/form-data; boundary=x',
      Buffer.concat([Buffer.from(`--x\r\n${part}`), pdf(200_000)]),
    ],
    [
      'too many fields',
      'multipart/form-data; boundary=x',
      `${'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(25)}--x--\r\n`,
    ],
  ])(
    'a malformed form is rejected with 400 and leaves nothing on the disk: %s',
    async (_name, type, body) => {
      const before = await harness.filesOnDisk();
      const answer = await harness.post(OWNER, body, type);
      expect([answer.status, answer.body]).toEqual([400, { message: expect.any(String) }]);
      await eventually(async () => (await harness.filesOnDisk()).length === before.length);
    },
  );

  test('a client that disconnects during the upload leaves nothing on the disk', async () => {
    const before = await harness.filesOnDisk();
    const sending = request(`${harness.url}/api/v1/media`, {
      method: 'POST',
      headers: {
        [CALLER_HEADER]: gatewayContext('media', OWNER),
        'content-type': 'multipart/form-data; boundary=x',
        'content-length': 5_000_000,
      },
    });
    sending.write(Buffer.concat([Buffer.from(`--x\r\n${part}`), pdf(1_000_000)]));
    await eventually(async () => (await harness.filesOnDisk()).length > before.length);
    const gone = once(sending, 'close').catch(() => undefined);
    sending.destroy();
    await gone;
    await eventually(async () => (await harness.filesOnDisk()).length === before.length);
    expect((await harness.send('GET', '/media/1')).status).not.toBe(500);
  });
});

describe('who may upload', () => {
  test('an upload returns 401 for a guest before the body is read, and 415 for anything but a form', async () => {
    expect((await harness.post(GUEST, 'x', 'multipart/form-data')).status).toBe(401);
    const others = [
      await harness.send('POST', '/media', { as: OWNER, body: GYM }),
      await harness.post(OWNER, 'x', 'text/plain'),
      await harness.post(OWNER, 'x', 'multipart/mixed; boundary=x'),
    ];
    const refusal = [415, { message: 'The request body must be a form with a file (multipart/form-data).' }];
    expect(others.map(({ status, body }) => [status, body])).toEqual([refusal, refusal, refusal]);
  });

  test.each([undefined, 'application/json', 'multipart/form-data; boundary=x'])(
    'a missing body with the type %s is rejected with 422, which names every required field',
    async (type) => {
      const answer = await fetch(`${harness.url}/api/v1/media`, {
        method: 'POST',
        headers: {
          [CALLER_HEADER]: gatewayContext('media', OWNER),
          ...(type === undefined ? {} : { 'content-type': type }),
        },
      });
      const { errors } = (await answer.json()) as { errors: object };
      expect([answer.status, Object.keys(errors).sort()]).toEqual([
        422,
        ['attachable_id', 'attachable_type', 'file'],
      ]);
    },
  );

  test.each(['application/json', 'text/plain', 'image/png', ';;;'])(
    'the message of the 415 for %s says what is accepted',
    async (type) => {
      const answer = await harness.post(OWNER, '{}', type);
      expect([answer.status, answer.body]).toEqual([
        415,
        { message: 'The request body must be a form with a file (multipart/form-data).' },
      ]);
    },
  );

  test.each<[string, UserCaller, Record<string, string | number>]>([
    ['a stranger to a gym', STRANGER, GYM],
    ['a stranger to a profile', STRANGER, userTarget(7)],
    ['a caller with the view permission only', holder(9, 'gyms.view_all'), INACTIVE_GYM],
    ['the owner of a gym whose token lacks the edit permission', holder(7, 'posts.create'), GYM],
    ['the owner of a post whose token lacks the edit permission', holder(7, 'gyms.update'), POST],
    ['the owner of a service whose token lacks the edit permission', holder(7, 'gyms.update'), SERVICE],
    [
      'an operator with the gym license of another owner',
      holder(9, 'gyms.update_any'),
      { ...GYM, purpose: 'gym_license' },
    ],
    [
      'an operator with the trainer license of another user',
      holder(9, 'users.update_any'),
      { ...userTarget(7), purpose: 'trainer_license' },
    ],
  ])('an upload is rejected with 403 for %s, and nothing stays on the disk', async (_name, as, fields) => {
    const before = await harness.filesOnDisk();
    expect((await harness.upload(as, fields)).status).toBe(403);
    expect(await harness.filesOnDisk()).toEqual(before);
  });

  test.each<[string, Record<string, string | number>]>([
    ['gym', INACTIVE_GYM],
    ['post', DRAFT],
  ])('a %s that the caller may not see is the same 422 as an unknown one', async (_name, target) => {
    const hidden = await harness.upload(STRANGER, target);
    const missing = await harness.upload(STRANGER, { ...target, attachable_id: 77 });
    expect([hidden.status, fieldsOf(hidden), hidden.body]).toEqual([422, ['attachable_id'], missing.body]);
  });

  test.each<[string, UserCaller, Record<string, string | number>]>([
    ['an operator to any gym', holder(9, 'gyms.update_any'), INACTIVE_GYM],
    ['an operator to any profile', holder(9, 'users.update_any'), userTarget(7)],
    ['an operator to any post', holder(9, 'posts.update_any'), DRAFT],
    ['a user to their own profile, with any token', holder(7), userTarget(7)],
  ])('an upload returns 201 for %s', async (_name, as, fields) => {
    expect((await harness.upload(as, fields)).status).toBe(201);
  });

  test('an upload returns 503 when the target’s service is down, and nothing stays on the disk', async () => {
    const before = await harness.filesOnDisk();
    harness.stubs.up.content = false;
    const { status } = await harness.upload(OWNER, POST);
    harness.stubs.up.content = true;
    expect([status, await harness.filesOnDisk()]).toEqual([503, before]);
  });
});

test('a form whose client disconnected before it is read is refused at once', async () => {
  const app = Fastify();
  await app.register(multipart);
  const arrived = Promise.withResolvers<void>();
  const outcome = Promise.withResolvers<unknown>();
  app.post('/api/v1/media', async (request) => {
    arrived.resolve();
    await new Promise((resolve) => request.raw.once('close', resolve));
    const files = { keep: () => Promise.reject(new Error('nothing came')), discard: async () => undefined };
    const read = readUpload(request, files, 60_000).catch((error: unknown) => error);
    outcome.resolve(Promise.race([read, pause(20_000, undefined, { ref: false })]));
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const headers = ['content-type: multipart/form-data; boundary=x', 'content-length: 100'];
  const socket = await openRaw(url, { as: OWNER, headers, body: ['--x'] });
  await arrived.promise;
  socket.destroy();
  expect(await outcome.promise).toMatchObject({ kind: 'bad_request' });
  await app.close();
});
