/** Many forms that browsers do not send. They never cause a 500, a leftover file or a hanging connection. */
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MAX_FILE_BYTES } from '../src/domain/file-types.ts';
import { B, END, FORM, field, fieldsOf, file, GYM_FIELDS, json, outcome } from './forms.ts';
import { bytesOf, openRaw, type Piece, type RawAnswer, readAnswer, sendRaw } from './raw.ts';
import { GYM, type Harness, MEBIBYTE, OWNER, openHarness, PNG, pdf } from './support.ts';

let harness: Harness;
let filesBefore: string[];
let rowsBefore: number;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());
beforeEach(async () => {
  filesBefore = await harness.filesOnDisk();
  rowsBefore = (await harness.rows()).length;
});

const post = (body: readonly Piece[], ...headers: string[]): Promise<RawAnswer> =>
  sendRaw(harness.url, {
    as: OWNER,
    headers: [...(headers.length > 0 ? headers : [FORM]), `content-length: ${bytesOf(body).length}`],
    body,
  });
/** Expects that nothing is stored in the spool or elsewhere. Waits, because a refused body may still be arriving. */
const expectNothingStored = async (): Promise<void> => {
  await eventually(async () => (await harness.filesOnDisk()).length === filesBefore.length);
  expect(await harness.filesOnDisk()).toEqual(filesBefore);
  expect(await harness.rows()).toHaveLength(rowsBefore);
};

describe('unusual forms', () => {
  test.each<[string, Piece[], ...string[]]>([
    ['a line before the first part and after the last', ['hello\r\n', ...GYM_FIELDS, ...file(), END, 'bye']],
    ['a mebibyte after the last part', [...GYM_FIELDS, ...file(), END, Buffer.alloc(MEBIBYTE)]],
    [
      'a quoted boundary with a space',
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
      'a file with a type but without a name',
      [...GYM_FIELDS, ...file(PNG, 'name="file"', 'content-type: application/octet-stream\r\n'), END],
    ],
    [
      'a wrong type of the file',
      [...GYM_FIELDS, ...file(PNG, 'name="file"; filename="a.html"', 'content-type: text/html\r\n'), END],
    ],
    [
      'a part without a name',
      [...field('', '1'), '--x\r\nx-nothing: 1\r\n\r\n1\r\n', ...GYM_FIELDS, ...file(), END],
    ],
    [
      'unknown fields with inherited property names',
      [...field('fields', '1'), ...field('length', '1'), ...GYM_FIELDS, ...file(), END],
    ],
    [
      'a repeated field, of which the last one is used',
      [...field('attachable_id', '77'), ...GYM_FIELDS, ...file(), END],
    ],
  ])('an unusual form is accepted: %s', async (_name, body, ...types) => {
    const answer = await post(body, ...types);
    expect([answer.status, json(answer).data?.mime_type]).toEqual([201, 'image/png']);
  });

  test('content that resembles the boundary is stored unchanged', async () => {
    const content = Buffer.concat([
      pdf(100),
      Buffer.from('\r\n--y\r\n-- x\r\n\r\n-x--\r\r\n--\r\n--\r\n-'),
      Buffer.from(`--${B}--${B}--\n--${B}\r--${B}\r\n`),
      Buffer.from('\r\n-'),
    ]);
    const { status, body } = await post([...GYM_FIELDS, ...file(content), END]);
    const { id, size } = JSON.parse(body.toString()).data;
    const back = Buffer.from(await (await harness.download(OWNER, id)).arrayBuffer());
    expect([status, size, back.equals(content)]).toEqual([201, content.length, true]);
  });

  test('a form in chunks of one byte at irregular intervals is accepted', async () => {
    const body = bytesOf([...GYM_FIELDS, ...file(), END]);
    const socket = await openRaw(harness.url, { as: OWNER, headers: [FORM, 'transfer-encoding: chunked'] });
    socket.setNoDelay(true);
    for (const [index, byte] of body.entries()) {
      socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]));
      if (index % 20 === 0) await pause(2);
    }
    socket.write('0\r\n\r\n');
    expect((await readAnswer(socket)).status).toBe(201);
    socket.destroy();
  });

  test('a form of unknown length is limited by the size of its file', async () => {
    const body = bytesOf([...GYM_FIELDS, ...file(pdf(MAX_FILE_BYTES + 1)), END]);
    const answer = await sendRaw(harness.url, {
      as: OWNER,
      headers: [FORM, 'transfer-encoding: chunked'],
      body: [`${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'],
    });
    expect(outcome(answer)).toEqual([422, ['file']]);
    await expectNothingStored();
  });
});

describe('the name of the file', () => {
  /** A form for a new gym, whose file has this name. */
  const named = (disposition: Piece): Piece[] => [
    ...fieldsOf(harness.newGym()),
    `--${B}\r\ncontent-disposition: form-data; name="file"; `,
    disposition,
    '\r\n\r\n',
    PNG,
    '\r\n',
    END,
  ];

  // `cleanFilename` has a unit test, and `filename*` has more rows in upload.test.ts.
  test.each<[string, Piece, string]>([
    ['none at all', 'filename=""', 'file'],
    ['quotes', 'filename="a \\"b\\" c.png"', 'a "b" c.png'],
    ['without quotes', 'filename=a.png', 'a.png'],
    ['a Windows path', 'filename="C:\\\\x\\\\..\\\\a.png"', 'a.png'],
    ['a NUL', 'filename="a.png\0.html"', 'a.png.html'],
    ['10,000 characters', `filename="${'n'.repeat(10_000)}.png"`, `${'n'.repeat(116)}.png`],
    ['invalid UTF-8', Buffer.from('filename="a\xff\xfe.png"', 'latin1'), 'a\ufffd\ufffd.png'],
    // RFC 7578 does not allow `filename*` in forms. Clients send it with a plain name that cannot contain all characters.
    ['RFC 5987 with a path', `filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`, 'passwd'],
    ['RFC 5987 with half a character', `filename*=UTF-8''a%E2%82.png`, 'a\ufffd.png'],
    ['RFC 5987 in an unknown charset', `filename*=klingon''abc.png`, 'abc.png'],
  ])('the file name is cleaned: %s', async (_name, disposition, expected) => {
    const answer = await post(named(disposition));
    expect([answer.status, json(answer).data?.filename]).toEqual([201, expected]);
  });

  test('the file name is safe in headers and links', async () => {
    const { id, link } = json(
      await post(named('filename="\u202ea \\"b\\"\x01\r\n می\u200cخواهم 👩‍👩‍👧‍👦.png"')),
    ).data;
    const { headers } = await sendRaw(harness.url, { as: OWNER, method: 'GET', path: `/api/v1/media/${id}` });
    expect(headers['content-disposition']).toMatch(
      /^attachment; filename="[ !#-[\]-~]*"; filename\*=UTF-8''[\w!#$&+.^`|~%-]+$/,
    );
    expect(headers['set-cookie']).toBeUndefined();
    const { pathname } = new URL(link);
    expect((await sendRaw(harness.url, { as: OWNER, method: 'GET', path: pathname })).status).toBe(200);
  });
});

describe('refused forms', () => {
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
    ['another boundary than declared', [`--y\r\n`, ...file()], 400, []],
    [
      'lines that end in LF only',
      [
        bytesOf([...GYM_FIELDS, ...file(), END])
          .toString('latin1')
          .replaceAll('\r\n', '\n'),
      ],
      400,
      [],
    ],
    ['no end after the file', [...GYM_FIELDS, ...file()], 400, []],
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
      'a JSON field that is not a string',
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
      'a field of invalid JSON',
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
      ['attachable_type', 'attachable_id', 'purpose', 'file'],
    ],
    ['5,000 fields after the file', [...GYM_FIELDS, ...file(), ...fill(5_000), END], 400, []],
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
      'a part with 100 KiB of headers',
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
      'a part whose headers never end',
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
    ['nothing but an end', [END], 422, ['attachable_type', 'attachable_id', 'file']],
    ['an empty body', [], 422, ['attachable_type', 'attachable_id', 'file']],
  ])('a hostile form leaves nothing stored: %s', async (_name, body, status, fields) => {
    const answer = await post(body);
    expect(outcome(answer)).toEqual([status, fields]);
    if (status !== 201) await expectNothingStored();
  });

  test.each<[string, string[], number]>([
    ['another multipart type', [`content-type: multipart/mixed; boundary=${B}`], 415],
    ['no type', ['x-none: 1'], 415],
    ['an invalid type', ['content-type: ;;;'], 415],
    ['an empty boundary', ['content-type: multipart/form-data; boundary='], 400],
    [
      'a boundary of 8,000 characters',
      [`content-type: multipart/form-data; boundary=${'b'.repeat(8_000)}`],
      400,
    ],
    ['an unknown charset', [`content-type: multipart/form-data; charset=nope; boundary=${B}`], 201],
  ])(
    'a form with %s as its content type leaves nothing stored if refused',
    async (_name, headers, status) => {
      const answer = await post([...GYM_FIELDS, ...file(), END], ...headers);
      expect(answer.status).toBe(status);
      if (status !== 201) await expectNothingStored();
    },
  );

  test('two lengths, or a length with chunked encoding, are rejected with 400', async () => {
    for (const headers of [
      [FORM, 'content-length: 10', 'content-length: 11'],
      [FORM, 'content-length: 10', 'transfer-encoding: chunked'],
    ]) {
      expect((await sendRaw(harness.url, { as: OWNER, headers, body: ['x'] })).status).toBe(400);
    }
    await expectNothingStored();
  });

  test('a refused second file is read to its end, and the connection serves the next request', async () => {
    for (const [first, bytes] of [
      [PNG, 8 * MEBIBYTE],
      [Buffer.from('<svg/>'), MEBIBYTE],
    ] as const) {
      const body = bytesOf([...GYM_FIELDS, ...file(first), ...file(pdf(bytes)), ...file(pdf(MEBIBYTE)), END]);
      const socket = await openRaw(harness.url, {
        as: OWNER,
        headers: [FORM, `content-length: ${body.length}`],
        body: [body],
      });
      expect(outcome(await readAnswer(socket))).toEqual([422, ['file']]);
      socket.write('GET /health/live HTTP/1.1\r\nhost: media\r\n\r\n');
      expect((await readAnswer(socket)).status).toBe(200);
      socket.destroy();
    }
    await expectNothingStored();
  });
});

/** Resolves after the socket is closed, with or without an error. */
const closed = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : new Promise((resolve) => socket.resume().once('close', resolve));

describe('a client that stops sending', () => {
  const half = bytesOf([...GYM_FIELDS, ...file(pdf(300_000))]);

  test.each<[string, (socket: Socket) => void]>([
    ['disconnects', (socket) => socket.destroy()],
    ['resets the connection', (socket) => socket.resetAndDestroy()],
    ['ends its side', (socket) => socket.end()],
  ])('a client that %s during an upload leaves nothing', async (_name, leave) => {
    for (const headers of [
      [FORM, 'content-length: 5000000'],
      [FORM, `content-length: ${half.length + 100}`],
      [FORM, 'transfer-encoding: chunked'],
    ]) {
      const chunked = headers[1] === 'transfer-encoding: chunked';
      const body = chunked ? [`${(half.length + 5).toString(16)}\r\n`, half] : [half];
      const socket = await openRaw(harness.url, { as: OWNER, headers, body });
      await eventually(async () => (await harness.filesOnDisk()).length > filesBefore.length);
      leave(socket);
      await expectNothingStored();
      await closed(socket);
    }
  });
});

test('none of these forms led to a 5xx, and uploads are still accepted', async () => {
  const metrics = await (await fetch(`${harness.url}/metrics`)).text();
  expect(metrics).toMatch(/http_.*status="4/);
  expect(metrics.split('\n').filter((line) => /http_.*status="5/.test(line))).toEqual([]);
  expect((await harness.upload(OWNER, harness.newGym())).status).toBe(201);
});
