/**
 * The definitions of RabbitMQ: all exchanges, queues and bindings of the product, and a user for each process. A process
 * publishes its events, reads its queues and declares nothing that others use. No process may use the default
 * exchange, which leads to every queue.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { EventDefinition } from '@fitness/proto/events/define-event.ts';
import {
  type Binding,
  commandQueue,
  commandQueueDefinition,
  commandsExchange,
  consumerQueueDefinition,
  consumersOf,
  consumingServices,
  deadLetterLock,
  deadLetterQueue,
  eventPrefix,
  eventsExchangeName,
  type QueueDefinition,
  RETRY_DELAYS_MS,
  replyQueue,
  serviceExchange,
  serviceQueueDefinitions,
  topologyMark,
  topologyMarkPrefix,
  waitQueuePrefix,
} from '../../messaging/topology.ts';
import { OPERATOR, PROCESSES, type ProcessNeeds } from './processes.ts';

const DEFAULT_VHOST = '/';
const NOTHING = '^$';
/** Placeholder for the id in the name of a reply queue. */
const ANY_ID = 'any-id';

interface Permissions {
  configure: string;
  write: string;
  read: string;
}

/**
 * A regular expression for exactly these names, and for all that begin with one of `prefixes`. {@link ANY_ID} in a name stands
 * for all ids.
 */
const matching = (names: readonly string[], prefixes: readonly string[] = []): string => {
  const toPattern = (text: string): string => text.replaceAll('.', '\\.').replace(ANY_ID, '[0-9a-f-]+');
  const patterns = [...names.map(toPattern), ...prefixes.map((prefix) => `${toPattern(prefix)}.+`)];
  return patterns.length === 0 ? NOTHING : `^(?:${patterns.join('|')})$`;
};

/**
 * A process reads the marks of the topology and everything that begins with its name: a later release can have more queues.
 * RabbitMQ answers a passive declare only with a permission on that exchange or queue. Since 4.3.1 any is enough; 4.2.6
 * and 4.3.0 ask for the one to configure, which would allow deleting it.
 */
const permissionsOf = (namespace: string, { name, commands }: ProcessNeeds): Permissions => {
  const replies = commands.map((command) => replyQueue(namespace, command, ANY_ID));
  const exchanges = commands.length === 0 ? [] : [commandsExchange(namespace)];
  return {
    configure: matching([deadLetterLock(namespace, name), ...replies]),
    write: matching(
      [eventsExchangeName(namespace), serviceExchange(namespace, name), ...exchanges, ...replies],
      [waitQueuePrefix(namespace, name)],
    ),
    read: matching(
      [...exchanges, ...commands.map((command) => commandQueue(namespace, command)), ...replies],
      [`${serviceExchange(namespace, name)}.`, topologyMarkPrefix(namespace)],
    ),
  };
};

/**
 * For the operator's commands: it reads the dead letters of all services, returns them to their queues, and counts what is in each queue.
 * For the count alone it may write to the queues, which allows to bind one to an exchange that it may read: it may read none.
 */
const operatorPermissions = (namespace: string, services: readonly string[]): Permissions => ({
  configure: matching(services.map((service) => deadLetterLock(namespace, service))),
  write: matching(
    services.map((service) => serviceExchange(namespace, service)),
    services.map((service) => `${serviceExchange(namespace, service)}.`),
  ),
  read: matching(services.map((service) => deadLetterQueue(namespace, service))),
});

/** The hash that RabbitMQ stores: four bytes of salt, and the SHA-256 of salt and password. */
const passwordHash = (password: string): string => {
  const salt = randomBytes(4);
  const hash = createHash('sha256').update(salt).update(password).digest();
  return Buffer.concat([salt, hash]).toString('base64');
};

const bind = (source: string, destination: string, key: string) => ({
  source,
  destination,
  destination_type: 'queue',
  routing_key: key,
  arguments: {},
});

const exchange = ({ exchange: name, type }: Pick<Binding, 'exchange' | 'type'>) => ({
  name,
  type,
  durable: true,
  auto_delete: false,
  internal: false,
  arguments: {},
});

interface DefinitionsOptions {
  namespace: string;
  events: readonly EventDefinition[];
  /** Default `/`. */
  vhost?: string | undefined;
  /** User → password. */
  passwords: ReadonlyMap<string, string>;
}

/** For `load_definitions` of the broker, or `rabbitmqctl import_definitions`. */
export const rabbitmqDefinitions = ({
  namespace,
  events,
  passwords,
  vhost = DEFAULT_VHOST,
}: DefinitionsOptions) => {
  const inVhost = <T extends object>(definitions: readonly T[]) =>
    definitions.map((definition) => ({ ...definition, vhost }));
  const processes = PROCESSES.filter(({ hasEvents }) => hasEvents);
  const services = consumingServices(events);
  const queues: QueueDefinition[] = [
    ...services.flatMap((service) => serviceQueueDefinitions(namespace, service, RETRY_DELAYS_MS)),
    ...consumersOf(events).map((consumer) => consumerQueueDefinition(namespace, consumer)),
    ...processes.flatMap(({ commands }) =>
      commands.map((command) => commandQueueDefinition(namespace, command)),
    ),
  ];
  const permissions = [
    ...processes.map((needs) => ({ user: needs.name, ...permissionsOf(namespace, needs) })),
    { user: OPERATOR, ...operatorPermissions(namespace, services) },
  ];
  const bindings = queues.flatMap(({ name, bindings: own }) => own.map((each) => ({ ...each, queue: name })));
  return {
    vhosts: [{ name: vhost }],
    users: permissions.map(({ user }) => ({
      name: user,
      password_hash: passwordHash(passwordOf(passwords, user)),
      hashing_algorithm: 'rabbit_password_hashing_sha256',
      tags: [],
    })),
    permissions: inVhost(permissions),
    topic_permissions: inVhost(
      processes.map(({ name }) => ({
        user: name,
        exchange: eventsExchangeName(namespace),
        write: `^${eventPrefix(name).replace('.', '\\.')}`,
        read: NOTHING,
      })),
    ),
    exchanges: inVhost(
      [
        { exchange: topologyMark(namespace, events), type: 'fanout' as const },
        ...new Map(bindings.map((each) => [each.exchange, each])).values(),
      ].map(exchange),
    ),
    queues: inVhost(
      queues.map((queue) => ({
        name: queue.name,
        durable: true,
        auto_delete: false,
        arguments: queue.arguments,
      })),
    ),
    bindings: inVhost(
      bindings.map(({ exchange: source, queue, routingKey }) => bind(source, queue, routingKey)),
    ),
  };
};

const passwordOf = (passwords: ReadonlyMap<string, string>, user: string): string => {
  const password = passwords.get(user);
  if (password === undefined) throw new Error(`${user} has no password`);
  return password;
};
