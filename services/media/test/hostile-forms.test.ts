/** Forms that no browser sends: never a 500, never a file that stays, never a connection that hangs. */
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MAX_FILE_BYTES } from '../src/domain/file-types.ts';
import { bytesOf, openRaw, type Piece, type RawAnswer, readAnswer, sendRaw } from './raw.ts';
import { GYM, MEBIBYTE, OWNER, openWorld, PNG, picture, type World } from './support.ts';

let world: World;
let filesBefore: string[];
let rowsBefore: number;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  filesBefore = await world.filesOnDisk();
  rowsBefore = (await world.rows()).length;
});
/** Whatever was sent: no answer of the service's own making was a 500, and it goes on serving. */
afterEach(async () => {
  const metrics = await (await fetch(`${world.url}/metrics`)).text();
  expect(metrics.split('\n').filter((line) => /http_.*status="5/.test(line))).toEqual([]);
  expect((await world.upload(OWNER, GYM)).status).toBe(201);
});

const B = 'x';
const field = (name: string, value: Piece, more = ''): Piece[] => [
  `--${B}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`,
  value,
  '\r\n',
];
const file = (content: Piece = PNG, disposition = 'name="file"; filename="a.png"', more = ''): Piece[] => [
  `--${B}\r\ncontent-disposition: form-data; ${disposition}\r\n${more}\r\n`,
  content,
  '\r\n',
];
const GYM_FIELDS: Piece[] = Object.entries(GYM).flatMap(([name, value]) => field(name, String(value)));
const END = `--${B}--\r\n`;
const FORM = `content-type: multipart/form-data; boundary=${B}`;

const post = (body: readonly Piece[], ...headers: string[]): Promise<RawAnswer> =>
  sendRaw(world.url, {
    as: OWNER,
    headers: [...(headers.length > 0 ? headers : [FORM]), `content-length: ${bytesOf(body).length}`],
    body,
  });
const json = ({ body }: RawAnswer) => JSON.parse(body.toString());
const outcome = (answer: RawAnswer): [number, string[]] => [
  answer.status,
  Object.keys(json(answer).errors ?? {}),
];
/** Nothing was kept, in the spool or elsewhere; what was refused early may still be arriving. */
const expectNothingKept = async (): Promise<void> => {
  await eventually(async () => (await world.filesOnDisk()).length === filesBefore.length);
  expect(await world.filesOnDisk()).toEqual(filesBefore);
  expect(await world.rows()).toHaveLength(rowsBefore);
};

describe('accepted, as unusual as it is', () => {
  test.each<[string, Piece[], ...string[]]>([
    ['a line before the first part and behind the last', ['hello\r\n', ...GYM_FIELDS, ...file(), END, 'bye']],
    ['a mebibyte behind the last part', [...GYM_FIELDS, ...file(), END, Buffer.alloc(MEBIBYTE)]],
    [
      'a boundary in quotes, with blanks',
      [
        bytesOf([...GYM_FIELDS, ...file(), END])
          .toString('latin1')
          .replaceAll(`--${B}`, '--a b'),
      ].map((text) => Buffer.from(text, 'latin1')),
      'content-type: multipart/form-data; boundary="a b"',
    ],
    [
      'a media type in capitals',
      [...GYM_FIELDS, ...file(), END],
      `Content-Type: MULTIPART/FORM-DATA; BOUNDARY=${B}`,
    ],
    ['the file first', [...file(), ...GYM_FIELDS, END]],
    [
      'a file that has a type, but no name',
      [...GYM_FIELDS, ...file(PNG, 'name="file"', 'content-type: application/octet-stream\r\n'), END],
    ],
    [
      'a type of the file that is a lie',
      [...GYM_FIELDS, ...file(PNG, 'name="file"; filename="a.html"', 'content-type: text/html\r\n'), END],
    ],
    [
      'a part without a name',
      [...field('', '1'), '--x\r\nx-nothing: 1\r\n\r\n1\r\n', ...GYM_FIELDS, ...file(), END],
    ],
    [
      'names that objects inherit in no field of ours',
      [...field('fields', '1'), ...field('length', '1'), ...GYM_FIELDS, ...file(), END],
    ],
    ['a field twice: the last one counts', [...field('attachable_id', '77'), ...GYM_FIELDS, ...file(), END]],
  ])('%s', async (_name, body, ...types) => {
    const answer = await post(body, ...types);
    expect([answer.status, json(answer).data?.mime_type]).toEqual([201, 'image/png']);
  });

  test('bytes that look like the boundary come back as they were', async () => {
    const content = Buffer.concat([
      PNG,
      Buffer.from('\r\n--y\r\n-- x\r\n\r\n-x--\r\r\n--\r\n--\r\n-'),
      Buffer.from(`--${B}--${B}--\n--${B}\r--${B}\r\n`),
      Buffer.from('\r\n-'),
    ]);
    const { status, body } = await post([...GYM_FIELDS, ...file(content), END]);
    const { id, size } = JSON.parse(body.toString()).data;
    const back = Buffer.from(await (await world.download(OWNER, id)).arrayBuffer());
    expect([status, size, back.equals(content)]).toEqual([201, content.length, true]);
  });

  test('in pieces of one byte, which come when they come', async () => {
    const body = bytesOf([...GYM_FIELDS, ...file(), END]);
    const socket = await openRaw(world.url, { as: OWNER, headers: [FORM, 'transfer-encoding: chunked'] });
    socket.setNoDelay(true);
    for (const [index, byte] of body.entries()) {
      socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]));
      if (index % 20 === 0) await pause(2);
    }
    socket.write('0\r\n\r\n');
    expect((await readAnswer(socket)).status).toBe(201);
    socket.destroy();
  });

  test.each([
    ['25 MiB to the byte', MAX_FILE_BYTES, 201],
    ['one byte more', MAX_FILE_BYTES + 1, 422],
  ])('of unknown length: %s', async (_name, bytes, status) => {
    const body = bytesOf([...GYM_FIELDS, ...file(picture(bytes)), END]);
    const chunks = [`${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'];
    const answer = await sendRaw(world.url, {
      as: OWNER,
      headers: [FORM, 'transfer-encoding: chunked'],
      body: chunks,
    });
    expect(answer.status).toBe(status);
    if (status === 201) await world.send('DELETE', `/media/${json(answer).data.id}`, { as: OWNER });
    await expectNothingKept();
  });
});

describe('the name of the file', () => {
  const LONG = 'n'.repeat(10_000);
  test.each<[string, Piece, string]>([
    ['none at all', 'filename=""', 'file'],
    ['quotes', 'filename="a \\"b\\" c.png"', 'a "b" c.png'],
    ['without quotes', 'filename=a.png', 'a.png'],
    ['a path', 'filename="../../../etc/passwd"', 'passwd'],
    ['a path of another system', 'filename="C:\\\\x\\\\..\\\\a.png"', 'a.png'],
    ['only a path', 'filename="../../"', 'file'],
    ['dots', 'filename="..."', 'file'],
    ['a NUL', 'filename="a.png\0.html"', 'a.png.html'],
    ['control characters', 'filename="a\x01\x1b[31m\x7f.png"', 'a[31m.png'],
    ['10,000 characters', `filename="${LONG}"`, 'n'.repeat(200)],
    ['marks of direction', 'filename="\u202egnp.exe\u2066"', 'gnp.exe'],
    ['Persian with a half-space', 'filename="می\u200cخواهم.png"', 'می\u200cخواهم.png'],
    ['emoji of several characters', 'filename="👩‍👩‍👧‍👦🏳️‍🌈.png"', '👩‍👩‍👧‍👦🏳️‍🌈.png'],
    ['bytes that are no UTF-8', Buffer.from('filename="a\xff\xfe.png"', 'latin1'), 'a\ufffd\ufffd.png'],
    // RFC 7578 does not allow the second form: what stands beside it is the name.
    ['RFC 5987 and a plain one', `filename="a.png"; filename*=UTF-8''b.png`, 'a.png'],
    ['RFC 5987 alone', `filename*=UTF-8''${encodeURIComponent('مجوز.png')}`, 'مجوز.png'],
    ['RFC 5987 with a path', `filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`, 'passwd'],
    ['RFC 5987 with half a character', `filename*=UTF-8''a%E2%82.png`, 'a\ufffd.png'],
    ['RFC 5987 in a script that nobody knows', `filename*=klingon''abc.png`, 'abc.png'],
  ])('%s', async (_name, disposition, kept) => {
    const part: Piece[] = [
      `--${B}\r\ncontent-disposition: form-data; name="file"; `,
      disposition,
      '\r\n\r\n',
      PNG,
      '\r\n',
    ];
    const answer = await post([...GYM_FIELDS, ...part, END]);
    expect([answer.status, json(answer).data?.filename]).toEqual([201, kept]);
    const { id, link } = json(answer).data;
    const { headers } = await sendRaw(world.url, { as: OWNER, method: 'GET', path: `/api/v1/media/${id}` });
    expect(headers['content-disposition']).toMatch(
      /^attachment; filename="[ !#-[\]-~]*"; filename\*=UTF-8''[\w!#$&+.^`|~%-]+$/,
    );
    expect(headers['set-cookie']).toBeUndefined();
    const { pathname } = new URL(link);
    expect((await sendRaw(world.url, { as: OWNER, method: 'GET', path: pathname })).status).toBe(200);
  });
});

describe('refused, and nothing is kept', () => {
  const fill = (count: number, name = 'a'): Piece[] =>
    Array.from({ length: count }, () => field(name, '1')).flat();
  test.each<[string, Piece[], number, string[]]>([
    ['an empty file', [...GYM_FIELDS, ...file(''), END], 422, ['file']],
    ['a file of one byte', [...GYM_FIELDS, ...file('x'), END], 422, ['file']],
    ['a file as a field', [...GYM_FIELDS, ...file(PNG, 'name="file"'), END], 422, ['file']],
    [
      'a name with a line break in RFC 5987',
      [...GYM_FIELDS, ...file(PNG, `name="file"; filename*=UTF-8''a%0D%0ASet-Cookie:%20b=1`), END],
      422,
      ['file'],
    ],
    [
      'a file in base64',
      [
        ...GYM_FIELDS,
        ...file(PNG.toString('base64'), undefined, 'content-transfer-encoding: base64\r\n'),
        END,
      ],
      422,
      ['file'],
    ],
    [
      'a form in a form',
      [
        ...GYM_FIELDS,
        ...file(`--y\r\n\r\n1\r\n--y--`, 'name="file"', 'content-type: multipart/mixed; boundary=y\r\n'),
        END,
      ],
      422,
      ['file'],
    ],
    ['another boundary than was said', [`--y\r\n`, ...file()], 400, []],
    [
      'lines that end in LF alone',
      [
        bytesOf([...GYM_FIELDS, ...file(), END])
          .toString('latin1')
          .replaceAll('\r\n', '\n'),
      ],
      400,
      [],
    ],
    ['no end behind the file', [...GYM_FIELDS, ...file()], 400, []],
    [
      'an end within the head of a part',
      [...GYM_FIELDS, ...file(), `--${B}\r\ncontent-disposition: form`],
      400,
      [],
    ],
    ['an inherited name as a field', [...field('__proto__', '1'), ...GYM_FIELDS, ...file(), END], 400, []],
    [
      'an inherited name as a file',
      [...file(PNG, 'name="constructor"; filename="a"'), ...GYM_FIELDS, END],
      400,
      [],
    ],
    [
      'a field in JSON that is no text',
      [
        ...field('purpose', '{"toString":1}', '\r\ncontent-type: application/json'),
        ...GYM_FIELDS,
        ...file(),
        END,
      ],
      400,
      [],
    ],
    [
      'a field in JSON that is none',
      [...GYM_FIELDS, ...file(), ...field('purpose', '{', '\r\ncontent-type: application/json'), END],
      400,
      [],
    ],
    [
      'a field in UTF-16',
      [
        ...field('attachable_type', GYM.attachable_type, '\r\ncontent-type: text/plain; charset=utf-16le'),
        ...field('attachable_id', '1'),
        ...file(),
        END,
      ],
      422,
      ['attachable_type'],
    ],
    [
      'an id with a NUL',
      [...GYM_FIELDS, ...field('attachable_id', '1\0'), ...file(), END],
      422,
      ['attachable_id'],
    ],
    [
      'an id of 10,000 digits',
      [...GYM_FIELDS, ...field('attachable_id', '1'.repeat(10_000)), ...file(), END],
      422,
      ['attachable_id'],
    ],
    ['an empty purpose', [...GYM_FIELDS, ...field('purpose', ''), ...file(), END], 422, ['purpose']],
    [
      'everything wrong at once',
      [...field('attachable_id', 'x'), ...field('purpose', 'x'), END],
      422,
      ['attachable_type', 'attachable_id', 'purpose'],
    ],
    ['5,000 fields behind the file', [...GYM_FIELDS, ...file(), ...fill(5_000), END], 400, []],
    ['5,000 fields before it', [...fill(5_000), ...GYM_FIELDS, ...file(), END], 400, []],
    [
      'the file, and 30 others',
      [
        ...GYM_FIELDS,
        ...file(),
        ...Array.from({ length: 30 }, () => file(PNG, 'name="other"; filename="b.png"')).flat(),
        END,
      ],
      400,
      [],
    ],
    [
      'a part whose head has 100 KiB',
      [
        ...GYM_FIELDS,
        ...file(PNG, 'name="file"; filename="a.png"', `x-long: ${'y'.repeat(100_000)}\r\n`),
        END,
        '',
      ],
      201,
      [],
    ],
    [
      'a part whose head never ends',
      [...GYM_FIELDS, `--${B}\r\nx-long: `, Buffer.alloc(3 * MEBIBYTE, 'y')],
      400,
      [],
    ],
    [
      'a part with 5,000 headers',
      [...GYM_FIELDS, `--${B}\r\n`, 'x-a: 1\r\n'.repeat(5_000), '\r\n1\r\n', END],
      422,
      ['file'],
    ],
    ['nothing but an end', [END], 422, ['attachable_type', 'attachable_id']],
    ['an empty body', [], 422, ['attachable_type', 'attachable_id']],
  ])('%s', async (_name, body, status, fields) => {
    const answer = await post(body);
    expect(outcome(answer)).toEqual([status, fields]);
    if (status !== 201) await expectNothingKept();
  });

  test.each<[string, string[], number]>([
    ['multipart of another kind', [`content-type: multipart/mixed; boundary=${B}`], 415],
    ['no type', ['x-none: 1'], 415],
    ['a type that is no type', ['content-type: ;;;'], 415],
    ['an empty boundary', ['content-type: multipart/form-data; boundary='], 400],
    [
      'a boundary of 8,000 characters',
      [`content-type: multipart/form-data; boundary=${'b'.repeat(8_000)}`],
      400,
    ],
    ['a charset that is none', [`content-type: multipart/form-data; charset=nope; boundary=${B}`], 201],
  ])('%s', async (_name, headers, status) => {
    const answer = await post([...GYM_FIELDS, ...file(), END], ...headers);
    expect(answer.status).toBe(status);
    if (status !== 201) await expectNothingKept();
  });

  test('two lengths, or a length and pieces, are no request', async () => {
    for (const headers of [
      [FORM, 'content-length: 10', 'content-length: 11'],
      [FORM, 'content-length: 10', 'transfer-encoding: chunked'],
    ]) {
      expect((await sendRaw(world.url, { as: OWNER, headers, body: ['x'] })).status).toBe(400);
    }
    await expectNothingKept();
  });

  test('a second file, however large it is, is read to its end: the connection serves the next request', async () => {
    for (const first of [PNG, Buffer.from('<svg/>')]) {
      const body = bytesOf([
        ...GYM_FIELDS,
        ...file(first),
        ...file(picture(8 * MEBIBYTE)),
        ...file(picture(MEBIBYTE)),
        END,
      ]);
      const socket = await openRaw(world.url, {
        as: OWNER,
        headers: [FORM, `content-length: ${body.length}`],
        body: [body],
      });
      expect(outcome(await readAnswer(socket))).toEqual([422, ['file']]);
      socket.write('GET /health/live HTTP/1.1\r\nhost: media\r\n\r\n');
      expect((await readAnswer(socket)).status).toBe(200);
      socket.destroy();
    }
    await expectNothingKept();
  });
});

/** However it was closed. */
const closed = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : new Promise((resolve) => socket.resume().once('close', resolve));

describe('a client that does not go on', () => {
  const half = bytesOf([...GYM_FIELDS, ...file(picture(300_000))]);

  test.each<[string, (socket: Socket) => void]>([
    ['hangs up', (socket) => socket.destroy()],
    ['resets the connection', (socket) => socket.resetAndDestroy()],
    ['says that it is done', (socket) => socket.end()],
  ])('and %s leaves nothing', async (_name, leave) => {
    for (const headers of [
      [FORM, 'content-length: 5000000'],
      [FORM, `content-length: ${half.length + 100}`],
      [FORM, 'transfer-encoding: chunked'],
    ]) {
      const chunked = headers[1] === 'transfer-encoding: chunked';
      const body = chunked ? [`${(half.length + 5).toString(16)}\r\n`, half] : [half];
      const socket = await openRaw(world.url, { as: OWNER, headers, body });
      await eventually(async () => (await world.filesOnDisk()).length > filesBefore.length);
      leave(socket);
      await expectNothingKept();
      await closed(socket);
    }
  });
});

test('one that sends a byte at a time, or none, is hung up on at last, and leaves nothing', async () => {
  const impatient = await openWorld({}, { uploadDeadlineMs: 400 });
  const form = bytesOf([...GYM_FIELDS, ...file(picture(300_000))]);
  for (const sent of [form, form.subarray(0, 40), Buffer.alloc(0)]) {
    const socket = await openRaw(impatient.url, {
      as: OWNER,
      headers: [FORM, 'content-length: 5000000'],
      body: [sent],
    });
    const trickle = setInterval(() => socket.write('y'), 20);
    await closed(socket);
    clearInterval(trickle);
    await eventually(async () => (await impatient.filesOnDisk()).length === 0);
  }
  expect((await impatient.upload(OWNER, GYM, picture(1_000))).status).toBe(201);
  await impatient.close();
});
