/** The files with the credentials of the processes and the users of the servers. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { mongodbUsers } from './mongodb.ts';
import { OPERATOR, PROCESSES } from './processes.ts';
import { rabbitmqDefinitions } from './rabbitmq.ts';
import { redisAcl } from './redis.ts';

/** Addresses without a user. */
interface ServerAddresses {
  mongodb: string;
  redis: string;
  rabbitmq: string;
}

interface CredentialsOptions {
  directory: string;
  namespace: string;
  servers: ServerAddresses;
}

/** User ids in the image of the product and in the official images of the servers. */
const PROCESS_ID = 1000;
const SERVER_ID = 999;

/** The name of the administrator at the servers that operators administer. */
const ADMINISTRATOR = 'administrator';

const newPassword = (): string => randomBytes(24).toString('hex');

const withUser = (address: string, user: string, password: string): string =>
  address.replace('://', `://${user}:${password}@`);

/** A given `authSource` stays: the users of Atlas are all in `admin`. */
const withAuthSource = (address: string, db: string): string => {
  if (/[?&]authSource=/.test(address)) return address;
  if (address.includes('?')) return `${address}&authSource=${db}`;
  return `${/:\/\/[^/]+\//.test(address) ? address : `${address}/`}?authSource=${db}`;
};

/** The virtual host that an address names. */
const vhostIn = (address: string): string | undefined =>
  decodeURIComponent(new URL(address).pathname.slice(1)) || undefined;

/** Parses the address without `URL`, which does not accept several hosts. */
const passwordIn = (address: string): string | undefined =>
  /^[a-z+]+:\/\/[^:/@]+:([^@]+)@/.exec(address)?.[1];

type Write = (file: string, content: string, owner: number) => void;

const createWrite = (directory: string): Write => {
  const isRoot = process.getuid?.() === 0;
  return (file, content, owner) => {
    const path = join(directory, file);
    const parent = dirname(path);
    mkdirSync(parent, { recursive: true });
    // The file is renamed, so a reader sees the old one or the new one.
    const temporary = `${path}.new`;
    rmSync(temporary, { force: true });
    writeFileSync(temporary, content, { mode: 0o400 });
    chmodSync(parent, 0o700);
    if (isRoot) {
      chownSync(temporary, owner, owner);
      chownSync(parent, owner, owner);
    }
    renameSync(temporary, path);
  };
};

/**
 * Writes missing files; existing passwords stay. There is a directory for each process, whose files have the names of its
 * variables, for the operator, and for each server. A file is readable by its process only.
 */
export const writeCredentials = ({ directory, namespace, servers }: CredentialsOptions): void => {
  const write = createWrite(directory);
  const read = (file: string): string | undefined => {
    const path = join(directory, file);
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  };
  /** Writes the address of a user and returns its password, which is new unless the file has one. */
  const addressOf = (file: string, user: string, server: string, db?: string): string => {
    const password = passwordIn(read(file) ?? '') ?? newPassword();
    const address = withUser(server, user, password);
    write(file, db === undefined ? address : withAuthSource(address, db), PROCESS_ID);
    return password;
  };
  const mongodb = mongodbUsers().map(({ name, db }): [string, string] => [
    name,
    addressOf(`${name}/MONGODB_URI`, name, servers.mongodb, db),
  ]);
  const redis = PROCESSES.map(({ name }): [string, string] => [
    name,
    addressOf(`${name}/REDIS_URL`, name, servers.redis),
  ]);
  const withEvents = PROCESSES.filter(({ hasEvents }) => hasEvents).map(({ name }) => name);
  const rabbitmq = [...withEvents, OPERATOR].map((name): [string, string] => [
    name,
    addressOf(`${name}/AMQP_URL`, name, servers.rabbitmq),
  ]);

  write('redis/users.acl', redisAcl(namespace, new Map(redis)), SERVER_ID);
  const definitions = rabbitmqDefinitions({
    namespace,
    events: EVENTS,
    vhost: vhostIn(servers.rabbitmq),
    passwords: new Map(rabbitmq),
  });
  write('rabbitmq/definitions.json', `${JSON.stringify(definitions, null, 2)}\n`, SERVER_ID);
  // The members of the replica set authenticate each other by it.
  write('mongodb/keyfile', read('mongodb/keyfile') ?? randomBytes(256).toString('base64'), SERVER_ID);
  const administrator = addressOf('mongodb-users/MONGODB_URI', ADMINISTRATOR, servers.mongodb, 'admin');
  write(`mongodb/${ADMINISTRATOR}`, administrator, SERVER_ID);
  write('mongodb-users/passwords.json', JSON.stringify(Object.fromEntries(mongodb)), PROCESS_ID);
};
