import type { z } from 'zod';
import { DEFAULT_JOURNALS, type JournalConfig } from '../kernel/config.ts';
import { type Journal, openJournal } from '../kernel/journal.ts';
import type { ServiceRuntime } from './service-runtime.ts';

const SILENT = 'the journal does not answer; what needs it is refused until it does';

/**
 * The journal `name` of a service. In production a folder of all journals that is named must be there: it is a volume that all
 * replicas share. Rejects, with everything of the runtime closed again, when the journal cannot be opened.
 */
export const openServiceJournal = async <Schema extends z.ZodType>(
  name: string,
  schema: Schema,
  { random, log, cleanup }: Pick<ServiceRuntime, 'random' | 'log' | 'cleanup'>,
  { NODE_ENV, JOURNAL_DIRECTORY: directory }: JournalConfig,
): Promise<Journal<z.output<Schema>>> => {
  const isNamed = directory !== DEFAULT_JOURNALS;
  const isProduction = NODE_ENV === 'production';
  if (isProduction && !isNamed)
    log.warn({ directory, name }, 'other replicas do not see the journal: set JOURNAL_DIRECTORY');
  try {
    return await openJournal(
      {
        directory,
        name,
        schema,
        uuid: random.uuid,
        onSilence: (error) => log.error({ err: error, name }, SILENT),
      },
      { mayCreate: !isProduction || !isNamed },
    );
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};
