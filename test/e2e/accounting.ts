/** Accounts for all events and indexes of a product whose processes stop and start. */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type OperationsStatus, operationsStatusSchema } from '@fitness/shared/kernel/operations.ts';
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import type { ProcessName } from '@fitness/shared/kernel/process-name.ts';
import { connectBroker } from '@fitness/shared/messaging/broker.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { tapEvents } from '@fitness/shared/testing/events.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { MongoClient } from 'mongodb';
import type { connectStack } from '../../scripts/lib/stack-client.mjs';

type Product = ReturnType<typeof connectStack>;

const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'] as const;

const operator: UserCaller = {
  kind: 'user',
  userId: 1,
  permissions: new Set(PERMISSIONS),
  tokenId: 'of this test',
  tokenKind: 'session',
};

interface EventAccounts {
  /** Number of distinct published events. */
  published: number;
  /** `<service>/<consumer>: <type>` of each event that a consumer has not handled. */
  lost: string[];
  deadLetters: number;
}

export interface Accounting {
  /**
   * Resolves when every event is handled, or after `withinMs`. A killed process leaves a transaction open, for which the next
   * delivery of its event waits until the database ends it (a minute). No queue counts that delivery.
   */
  close(withinMs?: number): Promise<EventAccounts>;
}

type Catalogue = readonly { type: string; consumers?: readonly string[] | undefined }[];

/**
 * Records every event of the product from now on. `previous`: the events of another release that runs beside this one. A consumer
 * that only one of them has handles what is published while it runs, and an upgrade makes up for the rest.
 */
export const startAccounting = async (
  product: Product,
  previous: Catalogue = EVENTS,
): Promise<Accounting> => {
  const log = createLog({ service: 'e2e', level: 'silent' });
  const { servers } = product.describe();
  const { EVENTS_NAMESPACE: namespace = '' } = product.part('identity').environment;
  const broker = await connectBroker({ url: servers.AMQP_URL, namespace, name: 'accounting', log });
  const tap = await tapEvents(broker);
  const { PRIVATE_KEY_DIRECTORY = '', PUBLIC_KEYS_DIRECTORY = '' } = product.part('gateway').environment;
  const signer = openCallerSigner('gateway', { PRIVATE_KEY_DIRECTORY, PUBLIC_KEYS_DIRECTORY }, log);

  const statusOf = async (service: ProcessName): Promise<OperationsStatus> => {
    const headers = { [CALLER_HEADER]: signer.sign(service, operator) };
    const response = await fetch(`${product.part(service).url}/internal/operations`, { headers });
    return operationsStatusSchema.parse(await response.json());
  };
  const statuses = (): Promise<OperationsStatus[]> => Promise.all(SERVICES.map(statusOf));

  return {
    close: async (withinMs = 120_000) => {
      const isDrained = async (): Promise<boolean> =>
        (await statuses()).every(
          ({ outbox, queues }) => outbox.waiting === 0 && queues?.waiting === 0 && queues.retrying === 0,
        );
      const typesById = (): Map<string, string> => new Map(tap.events.map(({ id, type }) => [id, type]));
      const readLost = async (): Promise<string[]> => {
        const types = typesById();
        return (
          await Promise.all(SERVICES.map((service) => lostAt(product, service, types, previous)))
        ).flat();
      };
      await eventually(async () => (await isDrained()) && (await readLost()).length === 0, {
        timeoutMs: withinMs,
        intervalMs: 250,
      }).catch(() => undefined);
      await tap.close();
      await broker.close();
      const lost = await readLost();
      const dead = (await statuses()).map(({ queues }) => queues?.dead_letters ?? Number.NaN);
      return {
        published: typesById().size,
        lost,
        deadLetters: dead.reduce((sum, count) => sum + count, 0),
      };
    },
  };
};

/** Lost events: every event that the service consumes in both releases needs a consumer, and a consumer that handled one event of a type must handle all. */
const lostAt = async (
  product: Product,
  service: ProcessName,
  typesById: ReadonlyMap<string, string>,
  previous: Catalogue,
): Promise<string[]> => {
  const handled = new Map<string, Set<string>>();
  const consumers = new Map<string, Set<string>>();
  await withDatabase(product, service, async (database) => {
    for await (const { consumer, eventId } of database.collection('inbox').find()) {
      const type = typesById.get(eventId);
      if (type === undefined) continue;
      handled.set(consumer, (handled.get(consumer) ?? new Set()).add(eventId));
      consumers.set(type, (consumers.get(type) ?? new Set()).add(consumer));
    }
  });
  const isConsumed = (events: Catalogue, type: string): boolean =>
    events.some((event) => event.type === type && event.consumers?.includes(service) === true);
  return [...typesById].flatMap(([id, type]) => {
    if (!isConsumed(EVENTS, type) || !isConsumed(previous, type)) return [];
    const names = consumers.get(type);
    if (names === undefined) return [`${service}/(any): ${type}`];
    return [...names]
      .filter((name) => handled.get(name)?.has(id) !== true)
      .map((name) => `${service}/${name}: ${type}`);
  });
};

/** `<service> <collection> <index>` → the index definition. */
export type Indexes = ReadonlyMap<string, string>;

export const readIndexes = async (product: Product): Promise<Indexes> => {
  const indexes = new Map<string, string>();
  for (const service of SERVICES) {
    await withDatabase(product, service, async (database) => {
      for (const { name: collection } of await database.listCollections({}, { nameOnly: true }).toArray()) {
        for (const { name, ...definition } of await database.collection(collection).listIndexes().toArray())
          indexes.set(`${service} ${collection} ${name}`, JSON.stringify(definition));
      }
    });
  }
  return indexes;
};

/** Indexes that were removed or redefined. A release may add indexes. */
export const changedIndexes = (before: Indexes, after: Indexes): string[] =>
  [...before].filter(([name, definition]) => after.get(name) !== definition).map(([name]) => name);

const withDatabase = async (
  product: Product,
  service: ProcessName,
  work: (database: ReturnType<MongoClient['db']>) => Promise<void>,
): Promise<void> => {
  const client = await new MongoClient(product.describe().servers.MONGODB_URI).connect();
  try {
    await work(client.db(product.part(service).environment.MONGODB_DATABASE));
  } finally {
    await client.close();
  }
};
