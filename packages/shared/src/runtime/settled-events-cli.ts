/**
 * `npm run events:settled`: waits until no service has an event to publish, consume or retry, for at most five minutes.
 * After a restore nothing of an erased account is left then, and the gateway may start. `npm run events:settled -- --now` waits for
 * nothing: for services that have stopped.
 *
 * Reads MONGODB_URI, AMQP_URL, EVENTS_NAMESPACE and `<SERVICE>_MONGODB_DATABASE`. Exit codes: 0 nothing waits, 1 something still
 * waits or it could not be found out.
 */
import pino from 'pino';
import { AUDITED_SERVICES } from '../audit/models.ts';
import { MINUTE_MS, SECOND_MS, systemClock } from '../kernel/clock.ts';
import { databaseOf } from '../kernel/config.ts';
import { pluralize } from '../kernel/pluralize.ts';
import { type Progress, withProgress } from '../kernel/progress.mjs';
import { sleep } from '../kernel/timing.ts';
import { type Broker, connectBroker } from '../messaging/broker.ts';
import { type Connection, connectMongo } from '../mongo/connect.ts';
import { readOutbox, readQueues } from './operations.ts';

const EXIT_FAILED = 1;
const CONNECT_TIMEOUT_MS = 5_000;
const WAIT_MAX_MS = 5 * MINUTE_MS;
/** A consumer may hold an event that no queue counts. It is handled or back in a queue well before the last of these rounds. */
const QUIET_ROUNDS = 5;

const log = pino({ level: 'silent' });

interface Waiting {
  events: number;
  deadLetters: number;
}

const readWaiting = async (broker: Broker, databases: ReadonlyMap<string, Connection>): Promise<Waiting> => {
  const total: Waiting = { events: 0, deadLetters: 0 };
  for (const [service, connection] of databases) {
    const outbox = await readOutbox(connection, systemClock);
    const queues = await readQueues(broker, service);
    if (queues === null) throw new Error(`the queues of ${service} cannot be read`);
    total.events += outbox.waiting + queues.waiting + queues.retrying;
    total.deadLetters += queues.dead_letters;
  }
  return total;
};

/** A service that has stopped moves no event. */
const mayWait = !process.argv.includes('--now');

const untilSettled = async (read: () => Promise<Waiting>, progress: Progress): Promise<Waiting> => {
  const deadline = performance.now() + WAIT_MAX_MS;
  progress.expect(QUIET_ROUNDS);
  for (let quiet = 0; ; ) {
    const waiting = await read();
    quiet = waiting.events === 0 ? quiet + 1 : 0;
    if (!mayWait || quiet >= QUIET_ROUNDS || performance.now() >= deadline) return waiting;
    progress.advance(`${pluralize(waiting.events, 'event')} waiting`, 0);
    await sleep(SECOND_MS);
  }
};

const main = async (): Promise<number> => {
  const databases = new Map<string, Connection>();
  const broker = await connectBroker({
    url: process.env.AMQP_URL || 'amqp://127.0.0.1:5672',
    namespace: process.env.EVENTS_NAMESPACE || 'fitness',
    name: 'events command',
    log,
    startTimeoutMs: CONNECT_TIMEOUT_MS,
    // The command declares nothing.
    topology: 'provisioned',
  });
  try {
    for (const service of AUDITED_SERVICES) {
      const database = databaseOf(service, process.env);
      const uri = process.env.MONGODB_URI || 'mongodb://127.0.0.1:27017';
      databases.set(
        service,
        await connectMongo({ uri, database, log, appName: 'events command', startTimeoutMs: 0 }),
      );
    }
    const { events, deadLetters } = await withProgress((progress) =>
      untilSettled(() => readWaiting(broker, databases), progress),
    );
    const letters = `There are ${pluralize(deadLetters, 'dead letter')}`;
    process.stdout.write(`${events === 0 ? 'No event waits' : `${events} still wait`}. ${letters}.\n`);
    return events === 0 ? 0 : EXIT_FAILED;
  } finally {
    for (const connection of databases.values()) await connection.close();
    await broker.close();
  }
};

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`failed: ${error instanceof Error ? error.message : String(error)}\n`);
  return EXIT_FAILED;
});
