/**
 * The operator's command for dead-lettered events:
 *
 *   npm run dead-letters -- <list|replay|purge> <service> [--id <event id>]
 *
 * Reads AMQP_URL (amqp://127.0.0.1:5672) and EVENTS_NAMESPACE (fitness). Exit codes: 0 done, 1 failed, 2 nothing
 * matched the given id, 64 wrong usage.
 */
import { parseArgs } from 'node:util';
import pino from 'pino';
import { connectBroker } from './broker.ts';
import { createDeadLetters, type DeadLetter, type DeadLetters } from './dead-letter.ts';

const USAGE = 'usage: dead-letter-cli.ts <list|replay|purge> <service> [--id <event id>]';
const EXIT_FAILED = 1;
const EXIT_NO_MATCH = 2;
const EXIT_USAGE = 64;
const CONNECT_TIMEOUT_MS = 5_000;

const printLine = (line: string): void => void process.stdout.write(`${line}\n`);
const printError = (line: string): void => void process.stderr.write(`${line}\n`);

type Action = 'list' | 'replay' | 'purge';

const readArguments = (): { action: Action; service: string; id: string | undefined } | undefined => {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { id: { type: 'string' } },
    });
    const [action, service, ...rest] = positionals;
    if (service === undefined || rest.length > 0) return undefined;
    if (action !== 'list' && action !== 'replay' && action !== 'purge') return undefined;
    return { action, service, id: values.id };
  } catch {
    return undefined;
  }
};

const printDeadLetter = (letter: DeadLetter): void => {
  printLine(`${letter.id ?? '(no id)'}  ${letter.type}  subject ${letter.subject ?? '(none)'}`);
  printLine(
    `    consumer ${letter.consumer ?? '(none)'}, ${letter.attempts} tries, first failed ${letter.firstFailure ?? '?'}`,
  );
  printLine(`    ${letter.error}`);
};

const perform = async (
  deadLetters: DeadLetters,
  action: Action,
  service: string,
  id?: string,
): Promise<number> => {
  if (action === 'list') {
    const found = (await deadLetters.list(service)).filter((letter) => id === undefined || letter.id === id);
    for (const letter of found) printDeadLetter(letter);
    printLine(`${found.length} dead-lettered events in ${service}`);
    return id !== undefined && found.length === 0 ? EXIT_NO_MATCH : 0;
  }
  const count = await deadLetters[action](service, { id });
  printLine(`${count} ${action === 'replay' ? 'returned to' : 'deleted from'} ${service}`);
  return id !== undefined && count === 0 ? EXIT_NO_MATCH : 0;
};

const main = async (): Promise<number> => {
  const wanted = readArguments();
  if (wanted === undefined) {
    printError(USAGE);
    return EXIT_USAGE;
  }
  const { action, service, id } = wanted;
  const broker = await connectBroker({
    url: process.env.AMQP_URL ?? 'amqp://127.0.0.1:5672',
    namespace: process.env.EVENTS_NAMESPACE ?? 'fitness',
    name: 'dead-letter command',
    log: pino({ level: 'silent' }),
    startTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  try {
    return await perform(createDeadLetters(broker), action, service, id);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 404) throw error;
    printError(`No service called ${service} has queues here`);
    return EXIT_FAILED;
  } finally {
    await broker.close();
  }
};

process.exitCode = await main().catch((error: unknown) => {
  printError(`failed: ${error instanceof Error ? error.message : String(error)}`);
  return EXIT_FAILED;
});
