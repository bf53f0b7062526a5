/** Runs in a container of docker-compose.yml and prints, as JSON, everything that its process can reach. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import amqplib from 'amqplib';
import { Redis } from 'ioredis';
import mongoose from 'mongoose';

const CREDENTIALS = '/run/credentials';
const KEYS = '/data/keys/private';
const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'];
const DATABASES = [
  ...SERVICES.map((name) => `fitness_${name.replaceAll('-', '_')}`).flatMap((own) => [
    own,
    `${own}_audit_seals`,
  ]),
  'fitness_wallet_seals',
];
const ADDRESSES = [
  ...['mongodb:27017', 'redis:6379', 'rabbitmq:5672'],
  ...SERVICES.flatMap((name, index) => [`${name}:${8_101 + index}`, `${name}:${9_101 + index}`]),
];
const TIMEOUT_MS = 5_000;

const credential = (/** @type {string} */ name) => {
  const file = `${CREDENTIALS}/${name}`;
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};

/**
 * The names for which `use` does not reject.
 * @param {string[]} names
 * @param {(name: string) => Promise<unknown>} use
 */
const allowed = async (names, use) => {
  const passed = [];
  for (const name of names) {
    try {
      await use(name);
      passed.push(name);
    } catch {
      // Access was refused.
    }
  }
  return passed;
};

const databases = async () => {
  const uri = credential('MONGODB_URI');
  if (uri === undefined) return [];
  const connection = await mongoose.createConnection(uri).asPromise();
  const find = (/** @type {string} */ name) =>
    connection.getClient().db(name).collection('least_privilege').findOne();
  const names = await allowed(DATABASES, find);
  await connection.close();
  return names;
};

const redisKeys = async () => {
  const redis = new Redis(credential('REDIS_URL') ?? '', {
    disableClientInfo: true,
    maxRetriesPerRequest: 1,
  });
  const names = await allowed([...SERVICES, 'gateway'], (name) => redis.get(`fitness:${name}:limit:test`));
  redis.disconnect();
  return names;
};

const queues = async () => {
  const url = credential('AMQP_URL');
  if (url === undefined) return [];
  const connection = await amqplib.connect(url);
  // Every service has a consumer of this event.
  const names = SERVICES.map((name) => `fitness.${name}.events.identity.account.deleted`);
  const accessible = await allowed(names, async (name) => {
    const channel = await connection.createChannel();
    channel.on('error', () => undefined);
    const message = await channel.get(name);
    if (message) channel.nack(message);
    await channel.close();
  });
  await connection.close();
  return accessible;
};

const reachable = () =>
  allowed(ADDRESSES, (address) => {
    const [host = '', port = ''] = address.split(':');
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port: Number(port), timeout: TIMEOUT_MS });
      socket.once('connect', () => resolve(socket.destroy()));
      socket.once('error', reject);
      socket.once('timeout', () => reject(socket.destroy()));
    });
  });

/** Addresses that respond without TLS. */
const plainAnswers = () =>
  allowed(
    SERVICES.map((name, index) => `${name}:${8_101 + index}`),
    (address) => fetch(`http://${address}/health/live`, { signal: AbortSignal.timeout(TIMEOUT_MS) }),
  );

console.log(
  JSON.stringify({
    databases: await databases(),
    redisKeys: await redisKeys(),
    queues: await queues(),
    reachable: await reachable(),
    plainAnswers: await plainAnswers(),
    credentials: readdirSync(CREDENTIALS).sort(),
    privateKeys: readdirSync(KEYS).filter((name) => readdirSync(`${KEYS}/${name}`).length > 0),
    authority: existsSync('/data/keys/authority') ? readdirSync('/data/keys/authority') : [],
    variables: Object.keys(process.env),
  }),
);
process.exit(0);
