/** Forms that browsers do not send. They never cause a 500, a leftover file or a hanging connection. */
import type { Socket } from 'node:net';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { B, END, FORM, field, file, GYM_FIELDS, outcome } from './forms.ts';
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

/** The gateway holds back the end of a request until it has checked the token again. */
test('a complete form is stored only once its request is complete', async () => {
  const form = bytesOf([...GYM_FIELDS, ...file(), END, Buffer.alloc(1_000, 'bye ')]);
  const headers = [FORM, `content-length: ${form.length + 1}`];
  const [first, second] = await Promise.all(
    [1, 2].map(() => openRaw(harness.url, { as: OWNER, headers, body: [form] })),
  );
  await eventually(async () => (await harness.filesOnDisk()).length === filesBefore.length + 2);
  // Uploads that start later succeed.
  const gym = harness.newGym();
  for (let times = 0; times < 3; times += 1) expect((await harness.upload(OWNER, gym)).status).toBe(201);
  expect(await harness.rows()).toHaveLength(rowsBefore + 3);
  first?.destroy();
  await eventually(async () => (await harness.filesOnDisk()).length === filesBefore.length + 4);
  second?.write('.');
  expect((await readAnswer(second as Socket)).status).toBe(201);
  expect(await harness.rows()).toHaveLength(rowsBefore + 4);
  second?.destroy();
});

test('an unusual form is accepted, and content that resembles the boundary is stored unchanged', async () => {
  const content = Buffer.concat([
    pdf(100),
    Buffer.from(`\r\n--y\r\n-- ${B}--${B}--\n--${B}\r--${B}\r\n\r\n-`),
  ]);
  const { status, body } = await post([
    'hello\r\n',
    ...file(content, 'name="file"; filename=a.html', 'content-type: text/html\r\n'),
    ...field('length', '1'),
    ...field('attachable_id', '77'),
    ...GYM_FIELDS,
    END,
    Buffer.alloc(MEBIBYTE),
  ]);
  const { id, mime_type } = JSON.parse(body.toString()).data;
  const back = Buffer.from(await (await harness.download(OWNER, id)).arrayBuffer());
  expect([status, mime_type, back.equals(content)]).toEqual([201, 'application/pdf', true]);
});

// hostile-forms.long.test.ts has many more.
test.each<[string, Piece[], number, string[]]>([
  ['a file as a field', [...GYM_FIELDS, ...file(PNG, 'name="file"'), END], 422, ['file']],
  ['another boundary than declared', [`--y\r\n`, ...file()], 400, []],
  ['no end after the file', [...GYM_FIELDS, ...file()], 400, []],
  ['an inherited name as a field', [...field('__proto__', '1'), ...GYM_FIELDS, ...file(), END], 400, []],
  [
    'an id with a NUL',
    [...GYM_FIELDS, ...field('attachable_id', '1\0'), ...file(), END],
    422,
    ['attachable_id'],
  ],
  ['30 more files', [...GYM_FIELDS, ...Array.from({ length: 31 }, () => file()).flat(), END], 422, ['file']],
  [
    'a part whose headers never end',
    [...GYM_FIELDS, `--${B}\r\nx-long: `, Buffer.alloc(MEBIBYTE, 'y')],
    400,
    [],
  ],
  ['an empty body', [], 422, ['attachable_type', 'attachable_id', 'file']],
])('a hostile form leaves nothing stored: %s', async (_name, body, status, fields) => {
  expect(outcome(await post(body))).toEqual([status, fields]);
  await expectNothingStored();
});

/** Resolves after the socket is closed, with or without an error. */
const closed = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : new Promise((resolve) => socket.resume().once('close', resolve));

test('the connection of a slow or silent upload is closed at the deadline, and nothing is stored', async () => {
  const shortDeadline = await openHarness({}, { uploadDeadlineMs: 400 });
  const form = bytesOf([...GYM_FIELDS, ...file(pdf(300_000))]);
  const sendSlowly = async (sent: Buffer): Promise<void> => {
    const socket = await openRaw(shortDeadline.url, {
      as: OWNER,
      headers: [FORM, 'content-length: 5000000'],
      body: [sent],
    });
    const trickle = setInterval(() => socket.write('y'), 20);
    await closed(socket);
    clearInterval(trickle);
  };
  await Promise.all([form, form.subarray(0, 40), Buffer.alloc(0)].map(sendSlowly));
  await eventually(async () => (await shortDeadline.filesOnDisk()).length === 0);
  // On a stalled machine, an upload may exceed the short deadline.
  await eventually(async () => (await shortDeadline.upload(OWNER, GYM, pdf(1_000))).status === 201);
  await shortDeadline.close();
});
