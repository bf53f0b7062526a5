/** Entries are durable and separate, even after a crash at any point and with several writers. */
import { execFileSync, spawn } from 'node:child_process';
import { pbkdf2 } from 'node:crypto';
import { mkdtemp, open as openReal, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { z } from 'zod';
import { systemRandom } from '../../src/kernel/clock.ts';
import { type Journal, type JournalState, openJournal } from '../../src/kernel/journal.ts';
import { finishesWithin, sleep } from '../../src/kernel/timing.ts';
import { until } from '../messaging/support.ts';

const schema = z.object({ id: z.int(), at: z.iso.datetime().transform((text) => new Date(text)) });
type Content = z.output<typeof schema>;
const AT = new Date('2026-01-02T03:04:05.678Z');

let all: string;
/** The folder of the journal `things`. */
let directory: string;
beforeEach(async () => {
  all = await mkdtemp(join(tmpdir(), 'journal-'));
  directory = join(all, 'things');
});
afterEach(() => rm(all, { recursive: true, force: true }));

const open = (): Promise<Journal<Content>> =>
  openJournal({ directory: all, name: 'things', schema, uuid: systemRandom.uuid }, { mayCreate: false });

const contents = async (journal: Journal<Content>, state: JournalState): Promise<Content[]> => {
  const contents: Content[] = [];
  for await (const { content } of journal.entries(state)) contents.push(content);
  return contents.sort((one, other) => one.id - other.id);
};

test('an entry is begun, then done, for every process that opens the folder', async () => {
  const writer = await open();
  const entry = await writer.begin(7, { id: 7, at: AT });
  expect(await contents(await open(), 'begun')).toEqual([{ id: 7, at: AT }]);
  expect(await contents(await open(), 'done')).toEqual([]);
  await entry.markDone();
  await entry.markDone();
  expect(await contents(await open(), 'begun')).toEqual([]);
  expect(await contents(await open(), 'done')).toEqual([{ id: 7, at: AT }]);
});

test('withdrawing one attempt leaves another of the same subject', async () => {
  const journal = await open();
  const failed = await journal.begin(7, { id: 7, at: AT });
  await journal.begin(7, { id: 7, at: AT });
  await failed.withdraw();
  await failed.withdraw();
  expect(await contents(journal, 'begun')).toHaveLength(1);
});

test('an entry that was begun under a name is withdrawn by it', async () => {
  const journal = await open();
  await journal.begin('7-secret', { id: 7, at: AT });
  await journal.begin('7-other', { id: 8, at: AT });
  await (await open()).withdraw('7-secret');
  await journal.withdraw('7-secret');
  expect(await contents(journal, 'begun')).toEqual([{ id: 8, at: AT }]);
});

test('a journal that leaves room refuses entries while others on its volume still accept them', async () => {
  const options = { directory: all, schema, uuid: systemRandom.uuid };
  const none = { files: 0, bytes: 0 };
  for (const leaves of [
    { ...none, bytes: Number.MAX_SAFE_INTEGER },
    { ...none, files: Number.POSITIVE_INFINITY },
  ]) {
    const full = await openJournal({ ...options, name: 'full', leaves }, { mayCreate: true });
    const isUnlimited = (await statfs(all)).files === 0;
    if (leaves.bytes > 0 || !isUnlimited)
      await expect(full.begin(1, { id: 1, at: AT })).rejects.toMatchObject({ kind: 'unavailable' });
  }
  expect(await readdir(join(all, 'full'))).toEqual([]);
  const roomy = await openJournal({ ...options, name: 'full', leaves: none }, { mayCreate: true });
  await roomy.begin(1, { id: 1, at: AT });
  await (await open()).begin(1, { id: 1, at: AT });
  expect([await readdir(join(all, 'full')), await readdir(directory)].map(({ length }) => length)).toEqual([
    1, 1,
  ]);
});

test('two hundred entries by four writers at once are all there, once each', async () => {
  const writers = await Promise.all([open(), open(), open(), open()]);
  const ids = Array.from({ length: 200 }, (_, index) => index);
  await Promise.all(
    ids.map(async (id) => (await (writers[id % 4] as Journal<Content>).begin(id, { id, at: AT })).markDone()),
  );
  expect((await contents(await open(), 'done')).map(({ id }) => id)).toEqual(ids);
});

test('a begun entry that a crash has cut off is left out, and a done one that cannot be read is an error', async () => {
  await open();
  await writeFile(join(directory, '7-cut.begun.json'), '{"id":7,"a');
  await writeFile(join(directory, 'lost+found'), '');
  expect(await contents(await open(), 'begun')).toEqual([]);
  await writeFile(join(directory, '7-cut.done.json'), '{"id":7,"a');
  await expect(contents(await open(), 'done')).rejects.toThrow('7-cut.done.json');
});

test('a missing folder is refused, unless it may be created', async () => {
  const missing = join(all, 'not', 'mounted');
  const options = { directory: missing, name: 'things', schema, uuid: systemRandom.uuid };
  await expect(openJournal(options, { mayCreate: false })).rejects.toThrow(missing);
  await openJournal(options, { mayCreate: true });
  expect(await readdir(missing)).toEqual(['things']);
});

test('an entry that one replica withdraws and another one commits is done', async () => {
  const entry = await (await open()).begin(7, { id: 7, at: AT });
  for await (const seen of (await open()).entries('begun')) await seen.withdraw();
  await entry.markDone();
  await entry.markDone();
  expect(await readdir(directory)).toEqual([expect.stringMatching(/^7-.*\.done\.json$/)]);
  expect(await contents(await open(), 'done')).toEqual([{ id: 7, at: AT }]);
});

test('an entry that cannot be written is unavailable, and leaves no file', async () => {
  // A full volume creates the file but cannot store its content.
  const openFile: typeof openReal = async (...options) => {
    const file = await openReal(...options);
    file.writeFile = () =>
      Promise.reject(Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }));
    return file;
  };
  const full = await openJournal(
    { directory: all, name: 'things', schema, uuid: systemRandom.uuid, openFile },
    { mayCreate: false },
  );
  const refused = { kind: 'unavailable', cause: { code: 'ENOSPC' } };
  await expect(full.begin(7, { id: 7, at: AT })).rejects.toMatchObject(refused);
  expect(await readdir(directory)).toEqual([]);
});

/** A volume that stops responding, until `answer`. */
const hangingJournal = async () => {
  const silences: string[] = [];
  let opened = 0;
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const openFile: typeof openReal = async (...options) => {
    opened += 1;
    await answered;
    return openReal(...options);
  };
  const onSilence = ({ message }: Error): void => void silences.push(message);
  const journal = await openJournal(
    {
      ...{ directory: all, name: 'things', schema, uuid: systemRandom.uuid },
      ...{ timeoutMs: 100, onSilence, openFile },
    },
    { mayCreate: false },
  );
  return { journal, silences, answer, opened: () => opened };
};

test('a volume that hangs gets one write; later ones are refused at once until it responds', async () => {
  const { journal, silences, answer, opened } = await hangingJournal();
  const begin = () => journal.begin(7, { id: 7, at: AT });
  const refused = { kind: 'unavailable' };
  const atOnce = await Promise.allSettled(Array.from({ length: 6 }, begin));
  expect(atOnce).toEqual(
    atOnce.map(() => ({ status: 'rejected', reason: expect.objectContaining(refused) })),
  );
  const askedAt = performance.now();
  for (let attempt = 0; attempt < 10; attempt += 1) await expect(begin()).rejects.toMatchObject(refused);
  expect(performance.now() - askedAt).toBeLessThan(100);
  expect(opened()).toBe(1);
  expect(silences).toEqual([`${directory} does not answer`]);
  answer();
  await until(() =>
    begin().then(
      () => true,
      () => false,
    ),
  );
  // The first entry was written after all; those that waited behind it were not.
  expect(await contents(journal, 'begun')).toHaveLength(opened());
});

test('entries whose reading hangs leave threads of the process free for other work', async () => {
  const journal = await open();
  // Opening a pipe for reading takes a thread until another process opens it for writing.
  const pipes = [1, 2, 3, 4, 5].map((id) => join(directory, `${id}-pipe.begun.json`));
  execFileSync('mkfifo', pipes);
  const rounds = pipes.map(() => contents(journal, 'begun'));
  try {
    await sleep(200);
    const hashed = promisify(pbkdf2)('password', 'salt', 1, 32, 'sha256');
    expect(await finishesWithin(hashed, 2_000)).toBe(true);
  } finally {
    const writers = pipes.map((path) => spawn('sh', ['-c', 'while true; do : > "$0"; done', path]));
    await Promise.all(rounds);
    for (const writer of writers) writer.kill();
  }
});
