import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAuditLog } from '../../src/audit/log.ts';
import { systemClock, systemRandom } from '../../src/kernel/clock.ts';
import { onEvent } from '../../src/messaging/consumer.ts';
import { createDeadLetters, type DeadLetter } from '../../src/messaging/dead-letter.ts';
import { connectMongo } from '../../src/mongo/connect.ts';
import { COMPILE_CACHE } from '../../src/testing/crash.ts';
import { dropDatabase, testConfig } from '../../src/testing/harness.ts';
import { countedProgress } from '../../src/testing/progress.ts';
import { amqpUrl, log, openConsumers, orderPlaced, publishEvent, until } from '../messaging/support.ts';

const CLI = fileURLToPath(new URL('../../src/runtime/dead-letter-cli.ts', import.meta.url));
const SERVICE = 'counter';
const { MONGODB_URI, MONGODB_DATABASE } = testConfig('wallet');

const { broker, consume, close } = await openConsumers({ retryDelaysMs: [] });
let broken = true;
let handled = 0;

beforeAll(() =>
  consume(SERVICE, [
    onEvent(orderPlaced, async () => {
      if (broken) throw new Error('out of order');
      handled += 1;
    }),
  ]),
);

afterAll(async () => {
  await close();
  await dropDatabase({ MONGODB_URI, MONGODB_DATABASE });
});

const run = (
  args: string[],
  change: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> =>
  new Promise((resolve) => {
    const env = {
      ...process.env,
      NODE_OPTIONS: '',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      AMQP_URL: amqpUrl(),
      EVENTS_NAMESPACE: broker.namespace,
      MONGODB_URI,
      COUNTER_MONGODB_DATABASE: MONGODB_DATABASE,
      ...change,
    };
    execFile(process.execPath, [CLI, ...args], { env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });

/** The entries of the audit log, oldest first. */
const recorded = async (): Promise<{ action: string; operator: unknown; events: unknown }[]> => {
  const connection = await connectMongo({ uri: MONGODB_URI, database: MONGODB_DATABASE });
  const audit = createAuditLog({
    connection,
    service: SERVICE,
    clock: systemClock,
    random: systemRandom,
    log,
  });
  const { entries } = await audit.list({}, { beforeId: undefined, limit: 100 });
  await connection.close();
  return entries
    .toReversed()
    .map(({ action, after }) => ({ action, operator: after?.operator, events: after?.events }));
};

test('an operator lists, replays and purges dead-lettered events', async () => {
  const ids = [await publishEvent(broker, { subject: '41' }), await publishEvent(broker, { subject: '42' })];
  await until(async () => (await createDeadLetters(broker).list(SERVICE)).length === 2);

  const listed = await run(['list', SERVICE]);
  expect(listed.code).toBe(0);
  expect(listed.out).toContain(`${ids[0]}  shop.order.placed  subject 41`);
  expect(listed.out).toContain('Error: out of order');
  expect(listed.out).toContain(`${SERVICE} has 2 dead-lettered events.`);

  // An action that cannot be recorded does not happen.
  const unrecorded = await run(['purge', SERVICE, '--all', '--operator', 'ada'], {
    MONGODB_URI: 'mongodb://127.0.0.1:0',
  });
  expect([unrecorded.code, (await createDeadLetters(broker).list(SERVICE)).length]).toEqual([1, 2]);
  // Nor is it recorded in the database of another service.
  const elsewhere = await run(['purge', SERVICE, '--all', '--operator', 'ada'], {
    MONGODB_DATABASE: 'fitness_wallet',
  });
  expect(elsewhere).toMatchObject({ code: 1, err: expect.stringContaining('MONGODB_DATABASE') });
  expect(await createDeadLetters(broker).list(SERVICE)).toHaveLength(2);

  broken = false;
  expect(await run(['replay', SERVICE, '--operator', 'ada', '--id', ids[0] ?? ''])).toMatchObject({
    code: 0,
    out: `Returned 1 dead-lettered event to ${SERVICE}.\n`,
  });
  await until(() => handled === 1);
  expect(await run(['purge', SERVICE, '--all', '--operator', 'ada'])).toMatchObject({
    code: 0,
    out: `Deleted 1 dead-lettered event of ${SERVICE}.\n`,
  });
  expect(await run(['purge', SERVICE, '--operator', 'ada', '--id', ids[0] ?? ''])).toMatchObject({ code: 2 });
  expect(await recorded()).toEqual([
    { action: 'dead_letters.replay', operator: 'ada', events: [`shop.order.placed ${ids[0]}`] },
    { action: 'dead_letters.purge', operator: 'ada', events: [`shop.order.placed ${ids[1]}`] },
  ]);
});

test('what is deleted is what was recorded, batch by batch, and an id is found wherever it is', async () => {
  broken = true;
  await Promise.all(Array.from({ length: 5 }, () => publishEvent(broker)));
  const all = createDeadLetters(broker);
  await until(async () => (await all.list(SERVICE)).length === 5);
  const idsOf = (letters: readonly DeadLetter[]) => letters.map(({ id }) => id);
  const remaining = async () => idsOf(await all.list(SERVICE)).toSorted();
  const ids = await remaining();
  const letters = createDeadLetters(broker, { limit: 2 });
  expect(await letters.list(SERVICE)).toHaveLength(2);
  for (const id of ids) expect(idsOf(await letters.list(SERVICE, { id }))).toEqual([id]);

  const batches: (string | undefined)[][] = [];
  const failing = async (letters: readonly DeadLetter[]): Promise<void> => {
    if (batches.length > 0) throw new Error('the database is gone');
    batches.push(idsOf(letters));
  };
  await expect(letters.purge(SERVICE, { record: failing })).rejects.toThrow('the database is gone');
  expect(batches.map(({ length }) => length)).toEqual([2]);
  expect(await remaining()).toEqual(ids.filter((id) => !batches.flat().includes(id)));

  // One that arrives meanwhile is not recorded, so it stays.
  let late: string | undefined;
  const record = async (letters: readonly DeadLetter[]): Promise<void> => {
    late ??= await publishEvent(broker);
    batches.push(idsOf(letters));
  };
  const { counts, ...progress } = countedProgress();
  expect(await letters.purge(SERVICE, { record, progress })).toBe(3);
  expect(counts).toEqual({ expected: 3, done: 3 });
  expect(batches.flat().toSorted()).toEqual(ids);
  await until(async () => (await all.list(SERVICE)).length === 1);
  expect(await remaining()).toEqual([late]);
});

test('wrong arguments print the usage, and an unknown service is named', async () => {
  const purge = ['purge', SERVICE, '--operator', 'ada'];
  const [unknown, ...wrong] = await Promise.all(
    [
      ['list', 'nobody'],
      ['explode', SERVICE],
      ['list'],
      // Who acts is recorded.
      ['replay', SERVICE],
      ['purge', SERVICE, '--all', '--operator', ' '],
      // Purged events are lost: which ones is never a default.
      purge,
      [...purge, '--all', '--id', 'an-event'],
    ].map((args) => run(args)),
  );
  expect(wrong.map(({ code }) => code)).toEqual(Array(6).fill(64));
  expect(wrong[0]?.err).toContain('usage');
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('nobody') });
});
