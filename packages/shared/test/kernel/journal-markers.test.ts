/** A backup marks every journal, and a restore trusts only journals with its marker. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { JOURNALS, markJournals, readJournals } from '../../src/kernel/journal-markers.mjs';

const LOST_AT = new Date('2026-01-02T03:04:05.678Z');

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'markers-'));
  for (const name of JOURNALS) await mkdir(join(directory, name));
  // A volume may have such a folder, which nobody may write to.
  await mkdir(join(directory, 'lost+found'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const put = (name: string, content: object) =>
  writeFile(join(directory, name), `${JSON.stringify(content)}\n`);

test('a restore reads the newest time and user of the entries, and the time of the backup', async () => {
  const before = Date.now();
  expect(await markJournals(directory, 'monday')).toEqual(JOURNALS);
  await put('deposits/1-a.begun.json', {
    user_id: 71,
    opened_at: '2100-01-02T03:04:05.678Z',
    payment_id: 900,
  });
  await put('erasures/5-b.done.json', { user_id: 5, created_at: '2025-01-02T03:04:05.678Z' });
  const { markedAt, ...state } = await readJournals(directory, { id: 'monday', lostAt: LOST_AT });
  expect(state).toEqual({ entries: 2, newestAt: new Date('2100-01-02T03:04:05.678Z'), newestUserId: 71 });
  expect(markedAt?.getTime()).toBeGreaterThanOrEqual(before);
});

test('each backup needs its own marker in every journal', async () => {
  await markJournals(directory, 'monday');
  await expect(markJournals(directory, 'monday')).rejects.toThrow('EEXIST');
  await expect(readJournals(directory, { id: 'tuesday', lostAt: LOST_AT })).rejects.toThrow(
    'lacks the marker',
  );
  await rm(join(directory, 'payouts/monday.backup'));
  await expect(readJournals(directory, { id: 'monday', lostAt: LOST_AT })).rejects.toThrow('payouts');
  await rm(directory, { recursive: true });
  await expect(markJournals(directory, 'tuesday')).rejects.toThrow('there is no journal');
});

test('the daily clean-up of old entries spares the markers', async () => {
  await markJournals(directory, 'monday');
  await put('deposits/1-a.begun.json', {});
  const old = new Date('2020-01-02T03:04:05.678Z');
  for (const name of await readdir(join(directory, 'deposits')))
    await utimes(join(directory, 'deposits', name), old, old);
  execFileSync('find', [directory, '-name', '*.json', '-mtime', '+30', '-delete']);
  expect(await readdir(join(directory, 'deposits'))).toEqual(['monday.backup']);
});
