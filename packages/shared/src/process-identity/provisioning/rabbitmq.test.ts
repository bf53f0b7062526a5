import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { describe, expect, test } from '@jest/globals';
import {
  commandQueue,
  consumerQueue,
  consumersOf,
  consumingServices,
  deadLetterLock,
  deadLetterQueue,
  eventPrefix,
  eventsExchangeName,
  formerEventsQueue,
  RETRY_DELAYS_MS,
  replyQueue,
  serviceExchange,
  serviceQueueDefinitions,
  topologyMark,
  waitQueue,
} from '../../messaging/topology.ts';
import { OPERATOR, PROCESSES } from './processes.ts';
import { rabbitmqDefinitions } from './rabbitmq.ts';

const NAMESPACE = 'fitness';
const names = [...PROCESSES.map(({ name }) => name), OPERATOR];
const passwords = new Map(names.map((name) => [name, `password of ${name}`]));
const definitions = rabbitmqDefinitions({ namespace: NAMESPACE, events: EVENTS, passwords });
const services = consumingServices(EVENTS);
/** The queues of its consumers. */
const consumerQueues = (service: string): string[] =>
  consumersOf(EVENTS)
    .filter((consumer) => consumer.service === service)
    .map(({ name }) => consumerQueue(NAMESPACE, service, name));
const waitQueues = (service: string): string[] =>
  RETRY_DELAYS_MS.map((delayMs) => waitQueue(NAMESPACE, service, delayMs));

const LATER_QUEUE = consumerQueue(NAMESPACE, 'wallet', 'wallet.later');

/** Every name that exists on the broker, the default exchange, and some that do not exist. */
const all = [
  ...definitions.exchanges.map(({ name }) => name),
  ...definitions.queues.map(({ name }) => name),
  ...services.map((service) => deadLetterLock(NAMESPACE, service)),
  replyQueue(NAMESPACE, 'sms.send', 'b4a7c1c2-0001'),
  'amq.default',
  LATER_QUEUE,
  'fitness',
  // It belongs to no service, though its name begins with that of one.
  'fitness.wallets.events',
];

const permitted = (user: string, kind: 'configure' | 'write' | 'read'): string[] => {
  const permission = definitions.permissions.find((each) => each.user === user);
  if (permission === undefined) throw new Error(`${user} has no permissions`);
  return all.filter((name) => new RegExp(permission[kind]).test(name)).sort();
};

const SMS = commandQueue(NAMESPACE, 'sms.send');
const REPLIES = replyQueue(NAMESPACE, 'sms.send', 'b4a7c1c2-0001');
const COMMANDS = 'fitness.commands';

/** Identity alone sends and serves commands. */
const ofCommands = (service: string, ...own: string[]): string[] => (service === 'identity' ? own : []);

describe.each(services)('%s', (service) => {
  test('a service declares no more than its lock and its replies', () => {
    const own = [deadLetterLock(NAMESPACE, service), ...ofCommands(service, REPLIES)];
    expect(permitted(service, 'configure')).toEqual(own.sort());
  });

  test('a service publishes to the exchanges of events, of its queues, of its retries and of its commands', () => {
    const own = [
      eventsExchangeName(NAMESPACE),
      serviceExchange(NAMESPACE, service),
      // An exchange and a queue share this name.
      ...[...waitQueues(service), ...waitQueues(service)],
    ];
    expect(permitted(service, 'write')).toEqual([...own, ...ofCommands(service, COMMANDS, REPLIES)].sort());
  });

  test('a service publishes no event of another service', () => {
    const topic = definitions.topic_permissions.find(({ user }) => user === service);
    const published = EVENTS.map(({ type }) => type).filter((type) =>
      new RegExp(topic?.write ?? '.*').test(type),
    );
    expect(published).toEqual(
      EVENTS.map(({ type }) => type).filter((type) => type.startsWith(eventPrefix(service))),
    );
    expect(topic?.exchange).toBe(eventsExchangeName(NAMESPACE));
  });

  test('a service reads only its queues, including later ones, and the mark of the topology', () => {
    const own = [
      ...consumerQueues(service),
      deadLetterQueue(NAMESPACE, service),
      deadLetterLock(NAMESPACE, service),
      ...[...waitQueues(service), ...waitQueues(service)],
      ...(service === 'wallet' ? [LATER_QUEUE] : []),
    ];
    const mark = topologyMark(NAMESPACE, EVENTS);
    expect(permitted(service, 'read')).toEqual(
      [...own, mark, ...ofCommands(service, COMMANDS, SMS, REPLIES)].sort(),
    );
  });

  // RabbitMQ refuses the passive declare of what a user has no permission for.
  test('a service has permission for all checks of its start', () => {
    const checked = [
      topologyMark(NAMESPACE, EVENTS),
      ...serviceQueueDefinitions(NAMESPACE, service, RETRY_DELAYS_MS).map(({ name }) => name),
      ...consumerQueues(service),
      ...ofCommands(service, SMS),
    ];
    expect(permitted(service, 'read')).toEqual(expect.arrayContaining(checked));
  });

  test('the exchange of a service leads only to its dead letters and its consumers', () => {
    const reached = definitions.bindings
      .filter(({ source }) => source === serviceExchange(NAMESPACE, service))
      .map(({ destination }) => destination);
    expect(reached.sort()).toEqual([...consumerQueues(service), deadLetterQueue(NAMESPACE, service)].sort());
  });

  test('a waiting event returns to the queue of its consumer by its routing key', () => {
    for (const queue of waitQueues(service)) {
      const definition = definitions.queues.find(({ name }) => name === queue);
      expect(definition?.arguments).toMatchObject({
        'x-dead-letter-exchange': serviceExchange(NAMESPACE, service),
      });
      expect(definition?.arguments).not.toHaveProperty('x-dead-letter-routing-key');
      expect(definitions.bindings.filter(({ destination }) => destination === queue)).toMatchObject([
        { source: queue },
      ]);
    }
  });

  test('a service gets the events that list it as a consumer', () => {
    const bound = definitions.bindings
      .filter(({ source }) => source === eventsExchangeName(NAMESPACE))
      .filter(({ destination }) => consumerQueues(service).includes(destination))
      .map(({ destination, routing_key: type }) => [destination, type]);
    const consumed = EVENTS.filter(({ consumers = [] }) => consumers.includes(service));
    const expected = consumed.map(({ type }) => [consumerQueue(NAMESPACE, service, type), type]);
    expect(bound.sort()).toEqual(expected.sort());
  });
});

test('the mark of the topology changes with every change of an event or its consumers', () => {
  const mark = topologyMark(NAMESPACE, EVENTS);
  expect(definitions.exchanges.map(({ name }) => name)).toContain(mark);
  expect(topologyMark(NAMESPACE, EVENTS.toReversed())).toBe(mark);
  const changes = [
    EVENTS.filter(({ type }) => type !== 'wallet.payment.booked'),
    EVENTS.map((event) =>
      event.type === 'wallet.payment.booked' ? { ...event, consumers: ['gyms'] } : event,
    ),
  ];
  for (const events of changes) expect(topologyMark(NAMESPACE, events)).not.toBe(mark);
});

test('the operator reads and returns dead letters, and counts the messages in every queue of a service', () => {
  expect(permitted(OPERATOR, 'read')).toEqual(
    services.map((service) => deadLetterQueue(NAMESPACE, service)).sort(),
  );
  const exchanges = services.map((service) => serviceExchange(NAMESPACE, service));
  // RabbitMQ counts a queue for any user with a permission on it. This one allows binding it to an exchange that the operator may read.
  const ofServices = all.filter((name) =>
    exchanges.some((exchange) => name === exchange || name.startsWith(`${exchange}.`)),
  );
  expect(permitted(OPERATOR, 'write')).toEqual(ofServices.sort());
  const write = definitions.permissions.find(({ user }) => user === OPERATOR)?.write ?? '';
  expect(formerEventsQueue(NAMESPACE, 'wallet')).toMatch(new RegExp(write));
  expect(permitted(OPERATOR, 'configure')).toEqual(
    services.map((service) => deadLetterLock(NAMESPACE, service)).sort(),
  );
});

test('no user is an administrator, has a password that can be read, or is called guest', () => {
  expect(definitions.users.flatMap(({ tags }) => tags)).toEqual([]);
  expect(definitions.users.map(({ name }) => name)).not.toContain('guest');
  expect(JSON.stringify(definitions)).not.toContain('password of');
});

test('everything is defined in the virtual host of the address, `/` by default', () => {
  const { vhosts, ...defined } = rabbitmqDefinitions({
    namespace: NAMESPACE,
    events: EVENTS,
    passwords,
    vhost: 'own',
  });
  const { permissions, topic_permissions, exchanges, queues, bindings } = defined;
  const all = [permissions, topic_permissions, exchanges, queues, bindings].flat();
  expect([vhosts, [...new Set(all.map(({ vhost }) => vhost))]]).toEqual([[{ name: 'own' }], ['own']]);
  expect([...new Set(definitions.queues.map(({ vhost }) => vhost))]).toEqual(['/']);
});
