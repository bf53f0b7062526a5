/** A volume of journals that fills up is noticed before it is full, and a journal of another database at the start. */
import { mkdtemp, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { z } from 'zod';
import { systemRandom } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createMetrics, type Metrics } from '../../src/kernel/metrics.ts';
import { createCleanup } from '../../src/runtime/lifecycle.ts';
import { openServiceJournal } from '../../src/runtime/service-journal.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'service-journal-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** The values of a metric that has no labels. */
const valuesOf = async (metrics: Metrics, name: string): Promise<number[]> => {
  const series = `${name}{service="wallet"} `;
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith(series));
  return lines.map((line) => Number(line.slice(series.length)));
};

test('a scrape has the size and the free space of the journal volume, and nothing while it cannot be read', async () => {
  const metrics = createMetrics('wallet', { defaults: false });
  const log = createLog({ service: 'wallet', level: 'silent' });
  const connection = { listCollections: async () => [] } as never;
  const runtime = { random: systemRandom, log, cleanup: createCleanup(), metrics, connection };
  for (const name of ['deposits', 'payouts'] as const)
    await openServiceJournal(name, z.object({}), runtime, {
      NODE_ENV: 'production',
      JOURNAL_DIRECTORY: directory,
    });
  const free = async () => [
    await valuesOf(metrics, 'journal_free_bytes'),
    await valuesOf(metrics, 'journal_free_inodes'),
  ];
  const { bavail, bsize, files, ffree } = await statfs(directory);
  const [bytes = [], inodes = []] = await free();
  // Some file systems have no limit of inodes.
  const expectedInodes = files === 0 ? [] : [expect.any(Number)];
  expect([bytes, inodes]).toEqual([[expect.any(Number)], expectedInodes]);
  // Other processes write to the volume meanwhile.
  expect((bytes[0] ?? 0) / (bavail * bsize)).toBeCloseTo(1, 1);
  for (const value of inodes) expect(value / ffree).toBeCloseTo(1, 1);
  const { blocks } = await statfs(directory);
  expect(await valuesOf(metrics, 'journal_bytes')).toEqual([blocks * bsize]);
  expect(await valuesOf(metrics, 'journal_inodes')).toEqual(files === 0 ? [] : [files]);
  await rename(directory, `${directory}.away`);
  expect(await free()).toEqual([[], []]);
  await rename(`${directory}.away`, directory);
  expect(await free()).toEqual([[expect.any(Number)], expectedInodes]);
});

test('a new database is refused beside the journal of an earlier one, and used beside an empty journal', async () => {
  const openWith = (collections: string[]) =>
    openServiceJournal(
      'payouts',
      z.object({}),
      {
        random: systemRandom,
        log: createLog({ service: 'wallet', level: 'silent' }),
        cleanup: createCleanup(),
        metrics: createMetrics('wallet', { defaults: false }),
        connection: { listCollections: async () => collections } as never,
      },
      { NODE_ENV: 'production', JOURNAL_DIRECTORY: directory },
    );
  await openWith([]);
  await writeFile(join(directory, 'payouts/monday.backup'), '');
  await openWith(['wallets']);
  await expect(openWith([])).rejects.toThrow('belongs to an earlier one: restore a backup');
});
