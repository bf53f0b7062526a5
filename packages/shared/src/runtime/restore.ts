/** The common part of the commands that complete a restore, `npm run restore:<service>`. */
import { parseArgs } from 'node:util';
import type { JournalConfig } from '../kernel/config.ts';
import { isMarkerId, type JournalsState, readJournals } from '../kernel/journal-markers.mjs';
import { pluralize } from '../kernel/pluralize.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import type { Progress } from '../kernel/progress.mjs';
import { runRebuild } from './rebuild.ts';
import type { RuntimeConfig } from './runtime-options.ts';
import type { ServiceRuntime } from './service-runtime.ts';

const EXIT_USAGE = 64;
const MAX_NAME = 100;
const USAGE = '(--backup <id> --lost-at <time> | --without-journal)';

interface RestoreArguments {
  operator: string;
  /** Undefined: the journal is not complete, and the operator knows it. */
  journal: { id: string; lostAt: Date } | undefined;
}

const readArguments = (needsOperator: boolean): RestoreArguments | undefined => {
  try {
    const { values } = parseArgs({
      options: {
        operator: { type: 'string', default: '' },
        backup: { type: 'string', default: '' },
        'lost-at': { type: 'string', default: '' },
        'without-journal': { type: 'boolean', default: false },
      },
    });
    const operator = values.operator.trim().slice(0, MAX_NAME);
    if (needsOperator && operator === '') return undefined;
    if (values['without-journal']) return { operator, journal: undefined };
    const lostAt = new Date(values['lost-at']);
    const isComplete = isMarkerId(values.backup) && !Number.isNaN(lostAt.getTime());
    return isComplete ? { operator, journal: { id: values.backup, lostAt } } : undefined;
  } catch {
    return undefined;
  }
};

interface Restore {
  /** The person who runs the command, for the audit log. Empty where it is not needed. */
  operator: string;
  progress: Progress;
  /**
   * The state of the journal, and undefined without one. It must be read after the journals are opened, which makes the missing
   * folders. Rejects when the journal is not complete.
   */
  readJournal(): Promise<JournalsState | undefined>;
}

/**
 * Runs a restore like {@link runRebuild}; the exit code of wrong usage is 64. The first line is about the journal, and the last
 * one says what was restored.
 */
export const runRestore = async <Config extends RuntimeConfig & JournalConfig>(
  service: ProcessName,
  readConfig: () => Config,
  restore: (runtime: ServiceRuntime, config: Config, options: Restore) => Promise<string[]>,
  { needsOperator = false } = {},
): Promise<void> => {
  const given = readArguments(needsOperator);
  if (given === undefined) {
    process.stderr.write(`usage: restore-cli.ts ${needsOperator ? '--operator <name> ' : ''}${USAGE}\n`);
    process.exitCode = EXIT_USAGE;
    return;
  }
  await runRebuild(service, readConfig, async (runtime, config, progress) => {
    let state = 'Without a complete journal: what it does not name is lost, and erased accounts are back.';
    const readJournal = async (): Promise<JournalsState | undefined> => {
      if (given.journal === undefined) return undefined;
      const read = await readJournals(config.JOURNAL_DIRECTORY, given.journal);
      state = `The journal has ${pluralize(read.entries, 'entry', 'entries')}, the newest of ${read.newestAt?.toISOString()}.`;
      return read;
    };
    const lines = await restore(runtime, config, { operator: given.operator, progress, readJournal });
    return [state, ...lines].join('\n');
  });
};
