/**
 * Measures the work that stays sequential however many servers there are (docs/scaling.md): the chain of seals, a service's outbox, a
 * sequence, and a document that many callers change. Single-document transactions in the same run are the comparison.
 */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { gymChanged } from '@fitness/proto/events/gyms.ts';
import { createAuditLog } from '@fitness/shared/audit/log.ts';
import { auditSealsOf } from '@fitness/shared/audit/models.ts';
import { systemClock, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectBroker } from '@fitness/shared/messaging/broker.ts';
import { registerEventModels } from '@fitness/shared/messaging/models.ts';
import { createOutbox } from '@fitness/shared/messaging/outbox.ts';
import { startRelay } from '@fitness/shared/messaging/relay.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { deleteTopology } from '@fitness/shared/testing/events.ts';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { SECONDS } from './config.ts';
import { measure, pause, timed } from './figures.ts';
import { CONNECTIONS, type Run } from './load.ts';
import { race, rates, type Work } from './race.ts';
import { conditions, printTable, spread } from './report.ts';

const DATABASE = 'bench_lines';
/** Rows written by one transaction before they are sealed or published. */
const BATCH = 100;
const DOCUMENTS = 1_000;

const { MONGODB_URI, AMQP_URL } = connectStack().describe().servers;
const log = createLog({ service: 'bench', level: 'warn' });
const connection = await connectMongo({ uri: MONGODB_URI, database: DATABASE, maxPoolSize: 50 });
await connection.dropDatabase();
await auditSealsOf(connection).dropDatabase();
const broker = await connectBroker({ url: AMQP_URL, namespace: DATABASE, log, events: EVENTS });
const options = { connection, clock: systemClock, random: systemRandom };
const audit = createAuditLog({ ...options, service: 'bench', log });
const outbox = createOutbox({ ...options, service: 'gyms' });
const rows = connection.collection<{ _id: number; changes: number }>('rows');
await ensureIndexes(connection);
await rows.insertMany(Array.from({ length: DOCUMENTS }, (_, _id) => ({ _id, changes: 0 })));

const run = async (count: number, work: () => Promise<unknown>): Promise<Run> => ({
  count,
  seconds: (await timed(work)) / 1_000,
});

const change = (count: number, documents: number) => (): Promise<Run> => {
  const one = (index: number) =>
    inTransaction(connection, (session) =>
      rows.updateOne({ _id: index % documents }, { $inc: { changes: 1 } }, { session }),
    );
  return run(count, () => measure(count, CONNECTIONS, one));
};

const seal = async (): Promise<Run> => {
  const count = 5 * BATCH * SECONDS;
  for (let first = 0; first < count; first += BATCH)
    await inTransaction(connection, async (session) => {
      for (let id = first; id < first + BATCH; id += 1)
        await audit.record(session, { actorId: 1, action: 'gym.update', subject: { type: 'gym', id } });
    });
  return run(count, audit.seal);
};

const publish = async (): Promise<Run> => {
  const count = 5 * BATCH * SECONDS;
  const data = { gym_id: 1, name: 'Gym', user_id: 1, is_active: true };
  for (let first = 0; first < count; first += BATCH)
    await inTransaction(connection, async (session) => {
      for (let subject = first; subject < first + BATCH; subject += 1)
        await outbox.publish(session, gymChanged, { subject, data, aggregateVersion: 1 });
    });
  const { outbox: waiting } = registerEventModels(connection);
  return run(count, async () => {
    const relay = startRelay({ connection, broker, log });
    while ((await waiting.estimatedDocumentCount()) > 0) await pause(5);
    await relay.close();
  });
};

/** Each of the `processes` has its own sequence object, shared by its callers. */
const number = (processes: number) => (): Promise<Run> => {
  const count = 100 * SECONDS;
  const sequences = Array.from({ length: processes }, () => createSequences(connection));
  return run(count, () =>
    measure(count, CONNECTIONS, async (index) => sequences[index % processes]?.next('bench')),
  );
};

const lines: [name: string, run: () => Promise<Run>][] = [
  ['entries that one sealer seals', seal],
  ['events that one relay publishes, each to a quorum queue', publish],
  [`numbers of a sequence, ${CONNECTIONS} callers of one process`, number(1)],
  [`numbers of a sequence, ${CONNECTIONS} processes with one caller each`, number(CONNECTIONS)],
  [`transactions on one document, ${CONNECTIONS} at once`, change(50 * SECONDS, 1)],
];
const bare = { name: 'transactions of one document each', run: change(500 * SECONDS, DOCUMENTS) };

const measured: string[][] = [];
for (const [name, ours] of lines) {
  const work: Work = { name, run: ours, peer: bare };
  const raced = await race(work);
  const [line, peer] = [rates(raced.ours), rates(raced.peer)];
  const ratios = line.map((rate, round) => rate / (peer[round] ?? Number.NaN));
  measured.push([name, spread(line), spread(peer), spread(ratios)]);
  console.log(`measured: ${name}`);
}
printTable(
  `One line by nature, beside ${bare.name}, ${CONNECTIONS} at once. ${conditions()}`,
  ['line', 'per second', 'beside it', 'ratio'],
  measured,
);

await deleteTopology(broker, { services: ['gyms'] });
await broker.close();
await connection.close();
