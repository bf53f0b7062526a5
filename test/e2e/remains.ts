/** Searches all stored data of the product: databases, Redis, queues, files, logs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type Broker, connectBroker } from '@fitness/shared/messaging/broker.ts';
import {
  commandQueue,
  consumerQueue,
  consumersOf,
  deadLetterQueue,
  RETRY_DELAYS_MS,
  waitQueue,
} from '@fitness/shared/messaging/topology.ts';
import type { GetMessage } from 'amqplib';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { stack } from './support.ts';

const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'] as const;
/** External providers keep the data that they received. */
const OUTSIDE = 'sandbox';

/** Calls `see` with each piece of stored data and its location. */
type Look = (see: (place: string, content: string) => void) => Promise<void>;

const environmentOf = (part: string): Record<string, string> => stack().part(part).environment;
const setting = (part: string, name: string): string => {
  const value = environmentOf(part)[name];
  if (value === undefined) throw new Error(`${part} runs without ${name}`);
  return value;
};

const inDatabases: Look = async (see) => {
  const client = await new MongoClient(stack().describe().servers.MONGODB_URI).connect();
  try {
    for (const service of SERVICES) {
      const database = client.db(setting(service, 'MONGODB_DATABASE'));
      for (const { name } of await database.listCollections().toArray()) {
        for await (const row of database.collection(name).find()) {
          for (const [field, value] of Object.entries(row)) {
            see(`mongodb ${service}.${name}.${field}`, JSON.stringify(value) ?? '');
          }
        }
      }
    }
  } finally {
    await client.close();
  }
};

const inRedis: Look = async (see) => {
  const redis = new Redis(stack().describe().servers.REDIS_URL);
  try {
    const keys = await redis.keys(`${setting('identity', 'EVENTS_NAMESPACE')}*`);
    for (const key of keys) see('redis key', key);
    // The serialized form of any value contains its text.
    for (const key of keys) see('redis value', (await redis.dumpBuffer(key))?.toString('latin1') ?? '');
  } finally {
    redis.disconnect();
  }
};

const readQueue = (broker: Broker, queue: string): Promise<GetMessage[]> =>
  broker.withChannel(async (channel) => {
    const messages: GetMessage[] = [];
    const { messageCount } = await channel.checkQueue(queue);
    for (let i = 0; i < messageCount; i += 1) {
      const message = await channel.get(queue);
      if (message !== false) messages.push(message);
    }
    for (const message of messages) channel.nack(message, false, true);
    return messages;
  });

const NOT_FOUND = 404;

const inQueues: Look = async (see) => {
  const namespace = setting('identity', 'EVENTS_NAMESPACE');
  const log = createLog({ service: 'e2e', level: 'silent' });
  const broker = await connectBroker({ url: stack().describe().servers.AMQP_URL, namespace, log });
  const queues = [
    commandQueue(namespace, 'sms.send'),
    ...consumersOf(EVENTS).map(({ service, name }) => consumerQueue(namespace, service, name)),
    ...SERVICES.flatMap((service) => [
      deadLetterQueue(namespace, service),
      ...RETRY_DELAYS_MS.map((delayMs) => waitQueue(namespace, service, delayMs)),
    ]),
  ];
  try {
    for (const queue of queues) {
      const messages = await readQueue(broker, queue).catch((error: { code?: unknown }) => {
        // A service without consumers has no such queue.
        if (error.code === NOT_FOUND) return [];
        throw error;
      });
      for (const { content, properties } of messages) {
        see(
          `queue ${queue.slice(namespace.length + 1)}`,
          content.toString() + JSON.stringify(properties.headers),
        );
      }
    }
  } finally {
    await broker.close();
  }
};

const inFiles: Look = async (see) => {
  const directory = setting('media', 'MEDIA_DIRECTORY');
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    see('name of a file', entry.name);
    if (entry.isFile()) see('file', readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  }
};

const inLogs: Look = async (see) => {
  for (const [name, { logFile }] of Object.entries(stack().describe().parts)) {
    if (name !== OUTSIDE) see(`log of ${name}`, readFileSync(logFile, 'utf8'));
  }
};

/** `<location>: <name of the mark>` for each mark at each location, distinct and sorted. */
export const remainsOf = async (marks: Readonly<Record<string, string>>): Promise<string[]> => {
  const remains = new Set<string>();
  for (const look of [inDatabases, inRedis, inQueues, inFiles, inLogs]) {
    await look((place, content) => {
      for (const [name, mark] of Object.entries(marks))
        if (content.includes(mark)) remains.add(`${place}: ${name}`);
    });
  }
  return [...remains].toSorted();
};
