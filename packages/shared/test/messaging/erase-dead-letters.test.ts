/** An erasure deletes the dead letters with personal data of the account, and no others. */
import { defineEvent } from '@fitness/proto/events/define-event.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { Broker } from '../../src/messaging/broker.ts';
import { onEvent } from '../../src/messaging/consumer.ts';
import { createDeadLetters } from '../../src/messaging/dead-letter.ts';
import { type Consumers, startConsumers } from '../../src/messaging/start-consumers.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import { dropDatabase, log, openBroker, openDatabase, publishEvent, removeBroker, until } from './support.ts';

const SERVICE = 'album';
const photoTaken = defineEvent({
  type: 'shop.photo.taken',
  data: z.object({ user_id: z.int(), filename: z.string() }),
  personalTo: ({ user_id: id }) => id,
});
const photoSold = defineEvent({
  type: 'shop.photo.sold',
  data: z.object({ user_id: z.int(), amount: z.int() }),
});
const personErased = defineEvent({
  type: 'shop.person.erased',
  data: z.object({ user_id: z.int() }),
  erases: ({ user_id: id }) => id,
});

let connection: Connection;
const brokers: Broker[] = [];
const consumers: Consumers[] = [];
let failures = 0;
let erasures = 0;

const startReplica = async (namespace?: string): Promise<void> => {
  const broker = await openBroker(namespace);
  brokers.push(broker);
  const fail = async () => {
    throw new Error('out of order');
  };
  consumers.push(
    await startConsumers({
      connection,
      broker,
      service: SERVICE,
      log,
      retryDelaysMs: [],
      consumers: [
        onEvent(photoTaken, fail),
        onEvent(photoSold, fail),
        onEvent(personErased, async () => {
          erasures += 1;
        }),
      ],
      onOutcome: (_type, outcome) => {
        if (outcome === 'dead') failures += 1;
      },
    }),
  );
};

const first = (): Broker => {
  const [broker] = brokers;
  if (broker === undefined) throw new Error('no replica was started');
  return broker;
};

beforeAll(async () => {
  connection = await openDatabase();
  await startReplica();
  await startReplica(first().namespace);
});

afterAll(async () => {
  for (const each of consumers) await each.close();
  await brokers[1]?.close();
  const names = [photoTaken.type, photoSold.type, personErased.type];
  await removeBroker(first(), [SERVICE], [], [], names);
  await dropDatabase(connection);
});

const deadLettered = async (): Promise<(string | undefined)[]> =>
  (await createDeadLetters(first()).list(SERVICE)).map(({ subject }) => subject).toSorted();

test('two replicas that erase six accounts at once delete their dead letters, and no others', async () => {
  const people = Array.from({ length: 8 }, (_, i) => i + 1);
  for (const id of people) {
    const photo = { user_id: id, filename: `me-${id}.jpg` };
    await publishEvent(first(), { type: photoTaken.type, subject: `photo ${id}`, data: photo });
    // Does not fit its schema.
    const broken = { user_id: id, filename: 7 };
    await publishEvent(first(), { type: photoTaken.type, subject: `broken ${id}`, data: broken });
    await publishEvent(first(), {
      type: photoSold.type,
      subject: `sale ${id}`,
      data: { user_id: id, amount: 1 },
    });
  }
  await until(() => failures >= people.length * 3);
  const erased = people.slice(0, 6);
  await Promise.all(
    erased.map((id) =>
      publishEvent(first(), { type: personErased.type, subject: `${id}`, data: { user_id: id } }),
    ),
  );
  await until(() => erasures >= erased.length);
  const left = people.flatMap((id) =>
    erased.includes(id) ? [`sale ${id}`] : [`sale ${id}`, `photo ${id}`, `broken ${id}`],
  );
  await until(async () => (await deadLettered()).length === left.length);
  expect(await deadLettered()).toEqual(left.toSorted());
});
