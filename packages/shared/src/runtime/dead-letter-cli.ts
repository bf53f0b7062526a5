/**
 * The operator's command for dead-lettered events:
 *
 *   npm run dead-letters -- list <service> [--id <event id>]
 *   npm run dead-letters -- replay <service> --operator <name> [--id <event id>]
 *   npm run dead-letters -- purge <service> --operator <name> <--id <event id>|--all>
 *
 * The name is recorded: in a container all operators are one user of the system.
 *
 * Reads AMQP_URL (amqp://127.0.0.1:5672) and EVENTS_NAMESPACE (fitness), and for the audit log of the service
 * MONGODB_URI and `<SERVICE>_MONGODB_DATABASE` (`fitness_<service>`); a MONGODB_DATABASE that is another one is refused.
 * Exit codes: 0 done, 1 failed, 2 nothing matched the given id, 64 wrong usage.
 */
import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import pino from 'pino';
import type { AuditAction } from '../audit/actions.ts';
import { createAuditLog } from '../audit/log.ts';
import { systemClock, systemRandom } from '../kernel/clock.ts';
import { databaseOf } from '../kernel/config.ts';
import { pluralize } from '../kernel/pluralize.ts';
import { type Progress, withProgress } from '../kernel/progress.mjs';
import { connectBroker } from '../messaging/broker.ts';
import { createDeadLetters, type DeadLetter, type DeadLetters } from '../messaging/dead-letter.ts';
import { connectMongo } from '../mongo/connect.ts';
import { inTransaction } from '../mongo/transaction.ts';

const USAGE =
  'usage: dead-letter-cli.ts <list|replay|purge> <service> [--id <event id>] [--operator <name>, to replay or purge] [--all, to purge without --id]';
const EXIT_FAILED = 1;
const EXIT_NO_MATCH = 2;
const EXIT_USAGE = 64;
const CONNECT_TIMEOUT_MS = 5_000;

const printLine = (line: string): void => void process.stdout.write(`${line}\n`);
const printError = (line: string): void => void process.stderr.write(`${line}\n`);

type Action = 'list' | 'replay' | 'purge';

interface Wanted {
  action: Action;
  service: string;
  id: string | undefined;
  /** The name of the acting operator; empty for `list`. */
  operator: string;
}

const MAX_NAME = 100;

const readArguments = (): Wanted | undefined => {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { id: { type: 'string' }, operator: { type: 'string' }, all: { type: 'boolean' } },
    });
    const [action, service, ...rest] = positionals;
    if (service === undefined || rest.length > 0) return undefined;
    if (action !== 'list' && action !== 'replay' && action !== 'purge') return undefined;
    const operator = (values.operator ?? '').trim().slice(0, MAX_NAME);
    if (action !== 'list' && operator === '') return undefined;
    // A purged event is lost, so purging all must be explicit.
    if (action === 'purge' && (values.id === undefined) !== (values.all === true)) return undefined;
    return { action, service, id: values.id, operator };
  } catch {
    return undefined;
  }
};

const printDeadLetter = (letter: DeadLetter): void => {
  printLine(`${letter.id ?? '(no id)'}  ${letter.type}  subject ${letter.subject ?? '(none)'}`);
  printLine(
    `    consumer ${letter.consumer ?? '(none)'}, ${pluralize(letter.attempts, 'attempt')}, first failed ${letter.firstFailure ?? '?'}`,
  );
  printLine(`    ${letter.error}`);
};

const log = pino({ level: 'silent' });

const ACTIONS = { replay: 'dead_letters.replay', purge: 'dead_letters.purge' } as const satisfies Record<
  Exclude<Action, 'list'>,
  AuditAction
>;

interface Target {
  service: string;
  /** The database of the service. */
  database: string;
  operator: string;
}

/**
 * Records the action before the letters are sent back or deleted, because the broker and the database have no common
 * transaction. An action that cannot be recorded does not happen. The service seals the entry: the user of this command can add
 * entries but change none.
 */
const recordAction = async (
  action: Exclude<Action, 'list'>,
  { service, database, operator }: Target,
  letters: readonly DeadLetter[],
): Promise<void> => {
  const connection = await connectMongo({
    uri: process.env.MONGODB_URI || 'mongodb://127.0.0.1:27017',
    database,
    log,
    appName: 'dead-letter command',
    startTimeoutMs: 0,
  });
  try {
    const audit = createAuditLog({ connection, service, clock: systemClock, random: systemRandom, log });
    const events = letters.map(({ id, type }) => `${type} ${id ?? '(no id)'}`);
    await inTransaction(connection, (session) =>
      audit.record(session, {
        actorId: null,
        action: ACTIONS[action],
        subject: { type: 'dead_letters', id: null },
        after: { personId: null, values: { events, operator, system_user: userInfo().username } },
      }),
    );
  } finally {
    await connection.close();
  }
};

const perform = async (
  deadLetters: DeadLetters,
  action: Action,
  target: Target,
  selection: { id: string | undefined; progress: Progress },
): Promise<number> => {
  const { service } = target;
  const { id } = selection;
  if (action === 'list') {
    const letters = await deadLetters.list(service, selection);
    for (const letter of letters) printDeadLetter(letter);
    printLine(`${service} has ${pluralize(letters.length, 'dead-lettered event')}.`);
    return id !== undefined && letters.length === 0 ? EXIT_NO_MATCH : 0;
  }
  const record = (letters: readonly DeadLetter[]): Promise<void> => recordAction(action, target, letters);
  const count = await deadLetters[action](service, { ...selection, record });
  const events = pluralize(count, 'dead-lettered event');
  printLine(action === 'replay' ? `Returned ${events} to ${service}.` : `Deleted ${events} of ${service}.`);
  return id !== undefined && count === 0 ? EXIT_NO_MATCH : 0;
};

const main = async (): Promise<number> => {
  const args = readArguments();
  if (args === undefined) {
    printError(USAGE);
    return EXIT_USAGE;
  }
  const { action, service, id, operator } = args;
  const target = { service, database: databaseOf(service, process.env), operator };
  const broker = await connectBroker({
    url: process.env.AMQP_URL || 'amqp://127.0.0.1:5672',
    namespace: process.env.EVENTS_NAMESPACE || 'fitness',
    name: 'dead-letter command',
    log,
    startTimeoutMs: CONNECT_TIMEOUT_MS,
    // The command declares nothing.
    topology: 'provisioned',
  });
  try {
    return await withProgress((progress) =>
      perform(createDeadLetters(broker), action, target, { id, progress }),
    );
  } catch (error) {
    if ((error as { code?: unknown }).code !== 404) throw error;
    printError(`There is no service ${service} with queues here.`);
    return EXIT_FAILED;
  } finally {
    await broker.close();
  }
};

process.exitCode = await main().catch((error: unknown) => {
  printError(`failed: ${error instanceof Error ? error.message : String(error)}`);
  return EXIT_FAILED;
});
