import { readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { ConfigError, DEFAULT_JOURNALS, type JournalConfig } from '../kernel/config.ts';
import { createFileAccess } from '../kernel/file-access.ts';
import { freeRoom, type Journal, type JournalOptions, openJournal, type Room } from '../kernel/journal.ts';
import type { JournalName } from '../kernel/journal-markers.mjs';
import type { Metrics } from '../kernel/metrics.ts';
import type { ServiceRuntime } from './service-runtime.ts';

const SILENT = 'the journal does not answer; what needs it is refused until it does';

/** 20,000 entries, for journals that must accept one while members fill another. */
export const ROOM_FOR_OTHERS: Room = { files: 20_000, bytes: 100_000_000 };

/**
 * The journal `name` of a service. In production a configured parent folder must already exist: it is a volume that all
 * replicas share. Rejects, with everything of the runtime closed again, when the journal cannot be opened. Rejects with a
 * {@link ConfigError} when it is not the journal of this database.
 */
export const openServiceJournal = async <Schema extends z.ZodType>(
  name: JournalName,
  schema: Schema,
  runtime: Pick<ServiceRuntime, 'random' | 'log' | 'cleanup' | 'metrics' | 'connection'>,
  { NODE_ENV, JOURNAL_DIRECTORY: directory }: JournalConfig,
  options: Pick<JournalOptions<Schema>, 'leaves'> = {},
): Promise<Journal<z.output<Schema>>> => {
  const { random, log, cleanup, metrics } = runtime;
  const isNamed = directory !== DEFAULT_JOURNALS;
  const isProduction = NODE_ENV === 'production';
  if (isProduction && !isNamed)
    log.warn({ directory, name }, 'other replicas do not see the journal: set JOURNAL_DIRECTORY');
  measureSpace(directory, metrics);
  try {
    const journal = await openJournal(
      {
        ...options,
        directory,
        name,
        schema,
        uuid: random.uuid,
        onSilence: (error) => log.error({ err: error, name }, SILENT),
      },
      { mayCreate: !isProduction || !isNamed },
    );
    await assertOwn(runtime, join(directory, name));
    return journal;
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

/** New accounts would get ids that the journal names, and a restore would take their entries for those of other accounts. */
const assertOwn = async (
  { connection }: Pick<ServiceRuntime, 'connection'>,
  directory: string,
): Promise<void> => {
  const files = await readdir(directory);
  if (files.length === 0 || (await connection.listCollections()).length > 0) return;
  throw new ConfigError(
    `the database is new, and the journal ${directory} belongs to an earlier one: restore a backup of that database, or remove its journals`,
  );
};

/** Less than a scrape may take. */
const MEASURE_TIMEOUT_MS = 1_000;
const FREE_BYTES = 'journal_free_bytes';

/** Once for all journals of a service, which share a volume. */
const measureSpace = (directory: string, { registry, readGauges }: Metrics): void => {
  if (registry.getSingleMetric(FREE_BYTES) !== undefined) return;
  const measuring = createFileAccess({ path: directory, timeoutMs: MEASURE_TIMEOUT_MS });
  readGauges({
    gauges: {
      [FREE_BYTES]: 'Free bytes of the volume of the journals',
      journal_free_inodes: 'How many more files the volume of the journals can have',
      journal_bytes: 'Size of the volume of the journals',
      journal_inodes: 'How many files the volume of the journals can have',
    },
    read: async () => {
      const [free, { blocks, bsize, files }] = await measuring(() =>
        Promise.all([freeRoom(directory), statfs(directory)]),
      );
      const journal_inodes = files === 0 ? Number.POSITIVE_INFINITY : files;
      const size = { journal_bytes: blocks * bsize, journal_inodes };
      return [{ values: { [FREE_BYTES]: free.bytes, journal_free_inodes: free.files, ...size } }];
    },
  });
};
