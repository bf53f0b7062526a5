/** What service tests need besides the service: its database, its events, and the events of other services. */
import type { EventDefinition, EventInput } from '@fitness/proto/events/define-event.ts';
import { cloudEventSchema, eventSource } from '@fitness/proto/events/envelope.ts';
import { systemClock, systemRandom } from '../kernel/clock.ts';
import { createLog } from '../kernel/log.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { type Broker, connectBroker } from '../messaging/broker.ts';
import { type Connection, connectMongo } from '../mongo/connect.ts';
import type { Cleanup } from '../runtime/lifecycle.ts';
import type { RuntimeConfig } from '../runtime/runtime-options.ts';
import { deleteTopology, type EventTap, provisionQueues, tapEvents } from './events.ts';
import { dropDatabase } from './harness.ts';

export interface ServiceHarness {
  broker: Broker;
  tap: EventTap;
  /** A connection to the database of the service. */
  connection: Connection;
  /** Publishes an event as its producer does; resolves with its id. */
  publish<Definition extends EventDefinition>(
    definition: Definition,
    event: { subject: number; data: EventInput<Definition>; version?: number; id?: string },
  ): Promise<string>;
}

/** Opened before the service, so that `cleanup` closes the service first. `pattern`: topic pattern of the events to read. */
export const openServiceHarness = async (
  service: ProcessName,
  config: RuntimeConfig,
  cleanup: Cleanup,
  pattern?: string,
): Promise<ServiceHarness> => {
  const broker = await connectBroker({
    url: config.AMQP_URL,
    namespace: config.EVENTS_NAMESPACE,
    log: createLog({ service: 'test', level: 'silent' }),
    name: 'test',
  });
  cleanup.defer('broker', () => broker.close());
  cleanup.defer('database', () => dropDatabase(config));
  cleanup.defer('queues', () => deleteTopology(broker, { services: [service] }));
  if (config.AMQP_TOPOLOGY === 'provisioned') await provisionQueues(broker, service);
  const tap = await tapEvents(broker, pattern);
  cleanup.defer('tap', () => tap.close());
  const connection = await connectMongo({
    // `watchCommands` finds the connection of the service by it.
    uri: config.MONGODB_URI.replace('monitorCommands=true', 'monitorCommands=false'),
    database: config.MONGODB_DATABASE,
  });
  cleanup.defer('connection', () => connection.close());
  return {
    broker,
    tap,
    connection,
    publish: async ({ type, data: schema }, { subject, data, version = 1, id = systemRandom.uuid() }) => {
      const [producer = ''] = type.split('.');
      const event = cloudEventSchema(schema).parse({
        specversion: '1.0',
        id,
        source: eventSource(producer.replace('_', '-')),
        type,
        subject: String(subject),
        time: systemClock.now().toISOString(),
        datacontenttype: 'application/json',
        aggregateversion: version,
        data,
      });
      await broker.publish(broker.eventsExchange, type, Buffer.from(JSON.stringify(event)));
      return id;
    },
  };
};
