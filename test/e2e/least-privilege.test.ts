/**
 * The whole product with one user per process at MongoDB, Redis and RabbitMQ, on separate servers that refuse everybody
 * else. The product works, and no process reaches data of another.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type Broker, connectBroker } from '@fitness/shared/messaging/broker.ts';
import { consumerQueue, serviceExchange } from '@fitness/shared/messaging/topology.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import type { rabbitmqDefinitions } from '@fitness/shared/process-identity/provisioning/rabbitmq.ts';
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connectStack } from '../../scripts/lib/stack-client.mjs';
import {
  api,
  arm,
  deposit,
  eventually,
  expectStatus,
  newestCode,
  register,
  sandbox,
  scheduleDeletion,
  tokenOf,
  useProduct,
} from './support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'];
const NAMESPACE = 'fitness';
const log = createLog({ service: 'e2e', level: 'silent' });

interface Product {
  url: string;
  sandboxUrl: string;
  file: string;
  credentials: string;
  logDirectory: string;
}

let child: ChildProcess;
let directory = '';
let product: Product;
let leave: (() => void) | undefined;

const start = async (): Promise<Product> => {
  // A directory in memory is preferred: the MongoDB stand-in waits for the disk on every commit.
  const memory = '/dev/shm';
  directory = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'least-privilege-'));
  const { PATH, HOME, NODE_COMPILE_CACHE, DATA_DIRECTORY } = process.env;
  const env = { PATH, HOME, NODE_COMPILE_CACHE, DATA_DIRECTORY };
  child = spawn(process.execPath, ['scripts/lib/restricted-stack-main.mjs', directory], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString('utf8');
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString('utf8');
  });
  return eventually(
    () => {
      if (child.exitCode !== null) throw new Error(`${output.stdout}${output.stderr}`);
      return output.stdout.endsWith('\n') && (JSON.parse(output.stdout) as Product);
    },
    { timeoutMs: 240_000, intervalMs: 100 },
  );
};

beforeAll(async () => {
  product = await start();
  leave = useProduct(product);
});

afterAll(async () => {
  leave?.();
  for (const close of closing.splice(0)) await close();
  if (child.exitCode === null) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
  rmSync(directory, { recursive: true, force: true });
});

const closing: (() => Promise<unknown>)[] = [];

const credential = (user: string, variable: string): string =>
  readFileSync(join(product.credentials, user, variable), 'utf8');

const runCommand = async (user: string, script: string, args: string[], environment: object = {}) => {
  const variables = readdirSync(join(product.credentials, user)).map((name) => [
    name,
    credential(user, name),
  ]);
  const command = spawn(process.execPath, [join(root, script), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...Object.fromEntries(variables), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [command.stdout, command.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  const [code] = await once(command, 'close');
  return { code, output };
};

/** Also matches a process that continues without Redis. */
const REFUSED =
  /ACCESS_REFUSED|access_refused|NOPERM|ACL failure|not authorized|requires authentication|computed without a lock/i;

/** Log lines that report a refusal. */
const refusals = (): string[] =>
  readdirSync(product.logDirectory)
    .filter((name) => name.endsWith('.log'))
    .flatMap((name) =>
      readFileSync(join(product.logDirectory, name), 'utf8')
        .split('\n')
        .filter((line) => REFUSED.test(line))
        .map((line) => `${name}: ${line}`),
    );

describe('the product', () => {
  test('the product sends codes, books money and delivers events, and no server refuses anything', async () => {
    const account = await register();
    await deposit(account.token, 50_000);
    const types = async (token: string): Promise<string[]> =>
      (await api('GET', '/notifications', { token })).body.data.map(({ type }: { type: string }) => type);
    // This event goes from wallet to identity.
    await eventually(async () => (await types(account.token)).includes('deposit_credited'));
    // In the demo data, content calls wallet by gRPC, and its event goes to identity.
    const trainer = await tokenOf('trainer', 'demo-password-1');
    await eventually(async () => (await types(trainer)).includes('training_service_sold'));
    // This event goes from store-billing to wallet, which books the payment.
    const purchaseToken = `least-privilege-${process.hrtime.bigint()}`;
    const sku = 'premium_plus';
    await sandbox('PUT', `/store/purchases/${purchaseToken}`, { product_id: sku, state: 'purchased' });
    const { token } = account;
    const body = { channel: 'cafebazaar', product_id: sku, purchase_token: purchaseToken };
    expectStatus(await api('POST', '/payments/store-purchases', { token, body }), 201);
    await eventually(async () => {
      const payments = await api('GET', '/payments?type=store_purchase', { token });
      return payments.body.data.length === 1;
    });
    // This tests the command sms.send and its reply.
    const leaving = await register();
    expectStatus(await arm(leaving), 200);
    expect(await newestCode(leaving.phone)).toMatch(/^\d+$/);
    const other = await register();
    await scheduleDeletion(other);
    expect(refusals()).toEqual([]);
  });

  test('the limits are counted in Redis, and not in MongoDB as they would be if Redis refused', async () => {
    const connection = await connectMongo({
      uri: credential('identity', 'MONGODB_URI'),
      database: 'fitness_identity',
    });
    closing.push(() => connection.close());
    await register();
    const windows = await connection.collection('rate_limits').find().toArray();
    expect(windows.map(({ _id }) => String(_id)).filter((id) => id.includes(':login:'))).toEqual([]);
  });

  test('idempotency keys are compared across services, in Redis', async () => {
    const { token } = await register();
    const headers = { 'idempotency-key': `shared-${process.hrtime.bigint()}` };
    const first = await api('POST', '/payments/deposit', { token, headers, body: { amount: 20_000 } });
    expectStatus(first, 201);
    const second = await api('POST', '/payments/buy-premium', { token, headers, body: { type: 'plus' } });
    expect([second.status, Object.keys(second.body.errors)]).toEqual([422, ['idempotency_key']]);
  });

  test('every service reaches all its servers', async () => {
    const { parts } = connectStack(product.file).describe();
    for (const service of SERVICES) {
      const answer = await fetch(`${parts[service]?.url}/health/ready`);
      const health = (await answer.json()) as { dependencies: Record<string, { state: string }> };
      const states = Object.values(health.dependencies).map(({ state }) => state);
      expect([answer.status, states]).toEqual([200, states.map(() => 'up')]);
    }
  });
});

describe('operator commands', () => {
  test('an operator lists, replays and purges the dead letters of every service', async () => {
    const cli = 'packages/shared/src/runtime/dead-letter-cli.ts';
    for (const service of SERVICES) {
      expect(await runCommand('operator', cli, ['list', service])).toEqual({
        code: 0,
        output: `${service} has 0 dead-lettered events.\n`,
      });
    }
    const broker = await connectBroker({
      url: credential('gyms', 'AMQP_URL'),
      namespace: NAMESPACE,
      log,
      topology: 'provisioned',
    });
    closing.push(() => broker.close());
    // This is not an event, so it is dead-lettered immediately.
    const queue = consumerQueue(NAMESPACE, 'gyms', 'gyms.gym.deleted');
    const sent = await broker.publish(serviceExchange(NAMESPACE, 'gyms'), queue, Buffer.from('no event'));
    expect(sent).toEqual({ routed: true });
    const by = ['--operator', 'ada'];
    const list = () => runCommand('operator', cli, ['list', 'gyms']);
    await eventually(async () => (await list()).output.includes('gyms has 1 dead-lettered event.'));
    expect((await runCommand('operator', cli, ['replay', 'gyms', ...by])).output).toBe(
      'Returned 1 dead-lettered event to gyms.\n',
    );
    await eventually(async () => (await list()).output.includes('gyms has 1 dead-lettered event.'));
    expect((await runCommand('operator', cli, ['purge', 'gyms', '--all', ...by])).output).toBe(
      'Deleted 1 dead-lettered event of gyms.\n',
    );
  });

  test('an operator checks the audit logs, which contain the actions of the commands above', async () => {
    const check = await runCommand('operator', 'packages/shared/src/audit/audit-cli.ts', []);
    expect(check.output).toMatch(/^gyms: 2 entries, .*: intact, head /m);
    expect(check.output.match(/: intact, head /g)).toHaveLength(SERVICES.length);
    expect(check.code).toBe(0);
  });

  test('an operator sees whether an event is waiting in any service', async () => {
    const settled = await runCommand('operator', 'packages/shared/src/runtime/settled-events-cli.ts', []);
    expect(settled.output).toContain('No event waits.');
    expect(settled.code).toBe(0);
  });

  test('an operator audits the ledger', async () => {
    const environment = { MONGODB_DATABASE: 'fitness_wallet' };
    const audit = await runCommand('operator', 'services/wallet/src/audit-cli.ts', [], environment);
    expect(audit.output).toContain('everything adds up');
    expect(audit.code).toBe(0);
  });

  test('a rebuild runs with the user of its service', async () => {
    const { environment } = connectStack(product.file).part('content');
    const rebuilt = await runCommand('content', 'services/content/src/rebuild-cli.ts', [], environment);
    expect(rebuilt.output).toMatch(/^Rebuilt \d+ profiles?/m);
    expect(rebuilt.code).toBe(0);
  });
});

/** The message of a refusal; undefined if the action was allowed. */
const refusalOf = async (work: () => Promise<unknown>): Promise<string | undefined> => {
  try {
    await work();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

describe.each([...SERVICES, 'gateway'])('permissions of %s at Redis', (user) => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await connectRedis({ url: credential(user, 'REDIS_URL') });
    closing.push(async () => redis.disconnect());
  });

  test('Redis refuses every key of another process', async () => {
    const allowed: string[] = [];
    for (const other of [...SERVICES, 'gateway']) {
      const key = `${NAMESPACE}:${other}:limit:test`;
      const refusal = await refusalOf(async () => {
        await redis.set(key, '1');
        await redis.get(key);
        await redis.eval("return redis.call('get', KEYS[1])", 1, key);
      });
      if (refusal === undefined) allowed.push(other);
      else expect(refusal).toMatch(/^NOPERM/);
    }
    expect(allowed).toEqual([user]);
  });

  test.each<[string, string[]]>([
    ['a script that reads an undeclared key', ['eval', "return redis.call('get', ARGV[1])", '0', 'other']],
    ['a script that deletes everything', ['eval', "return redis.call('flushall')", '0']],
    ['listing keys', ['keys', '*']],
    ['deleting everything', ['flushall']],
    ['changing users', ['acl', 'setuser', 'wallet', 'nopass']],
    ['changing the configuration', ['config', 'set', 'dir', '/tmp']],
    ['monitoring other clients', ['monitor']],
  ])('Redis refuses %s', async (_what, [command = '', ...args]) => {
    expect(await refusalOf(() => redis.call(command, ...args))).toMatch(
      /NOPERM|ACL failure|can't (?:run|access)/i,
    );
  });
});

test('Redis allows only PING without a password', async () => {
  const { port } = new URL(credential('gateway', 'REDIS_URL'));
  const socket = connect(Number(port), '127.0.0.1');
  closing.push(async () => socket.destroy());
  let answers = '';
  socket.on('data', (chunk) => {
    answers += chunk.toString('latin1');
  });
  socket.write(`PING\r\nGET ${NAMESPACE}:gateway:limit:test\r\n`);
  await eventually(() => answers.split('\r\n').length > 2);
  expect(answers).toMatch(/^\+PONG\r\n-NOPERM/);
});

/** 403, or undefined if the action was allowed. A refusal closes the channel. */
const codeOf = (broker: Broker, use: Parameters<Broker['withChannel']>[0]): Promise<number | undefined> =>
  broker.withChannel(async (channel) => {
    const closed = new Promise<number>((resolve) => {
      channel.on('error', (error: { code?: number }) => resolve(error.code ?? 0));
    });
    const used = use(channel).then(
      () => undefined,
      (error: { code?: number }) => error.code ?? closed,
    );
    return Promise.race([used, closed]);
  });

type Channel = Parameters<Parameters<Broker['withChannel']>[0]>[0];

const publish = (exchange: string, key: string) => async (channel: Channel) => {
  channel.publish(exchange, key, Buffer.from('{}'));
  await channel.waitForConfirms();
};

describe.each([...SERVICES, 'operator'])('permissions of %s at RabbitMQ', (user) => {
  let broker: Broker;
  let definitions: ReturnType<typeof rabbitmqDefinitions>;
  const isOwn = (name: string): boolean => name.startsWith(`${NAMESPACE}.${user}.`);
  const isCommands = (name: string): boolean => user === 'identity' && name.startsWith('fitness.commands');
  beforeAll(async () => {
    broker = await connectBroker({
      url: credential(user, 'AMQP_URL'),
      namespace: NAMESPACE,
      log,
      topology: 'provisioned',
    });
    closing.push(() => broker.close());
    definitions = JSON.parse(readFileSync(join(product.credentials, 'rabbitmq/definitions.json'), 'utf8'));
  });

  /** The queues for which `use` is allowed. */
  const allowedQueues = async (use: (channel: Channel, queue: string) => Promise<unknown>) => {
    const allowed: string[] = [];
    for (const { name } of definitions.queues) {
      const code = await codeOf(broker, (channel) => use(channel, name).then(() => undefined));
      if (code === undefined) allowed.push(name);
      else expect(code).toBe(403);
    }
    return allowed.sort();
  };

  test("RabbitMQ refuses to let a user read other services' queues", async () => {
    const readable = definitions.queues
      .map(({ name }) => name)
      .filter((name) => (user === 'operator' ? name.endsWith('.dead') : isOwn(name) || isCommands(name)));
    const use = async (channel: Channel, queue: string) => {
      const message = await channel.get(queue);
      if (message !== false) channel.nack(message);
    };
    expect(await allowedQueues(use)).toEqual(readable.sort());
  });

  test('RabbitMQ refuses to delete, declare or bind a queue that others use', async () => {
    expect(await allowedQueues((channel, queue) => channel.deleteQueue(queue, { ifEmpty: true }))).toEqual(
      [],
    );
    expect(await allowedQueues((channel, queue) => channel.bindQueue(queue, 'fitness.events', '#'))).toEqual(
      [],
    );
    const declare = (channel: Channel) => channel.assertQueue('fitness.stolen').then(() => undefined);
    expect(await codeOf(broker, declare)).toBe(403);
    const remove = (channel: Channel) => channel.deleteExchange('fitness.events').then(() => undefined);
    expect(await codeOf(broker, remove)).toBe(403);
  });

  test("RabbitMQ refuses to publish to another service's exchange or directly to a queue", async () => {
    for (const { name } of definitions.exchanges.filter(({ type }) => type === 'direct')) {
      const isAllowed =
        user === 'operator' ? !name.endsWith('.commands') : name === `fitness.${user}` || isCommands(name);
      // No queue has this name.
      expect([name, await codeOf(broker, publish(name, 'nobody'))]).toEqual([
        name,
        isAllowed ? undefined : 403,
      ]);
    }
    for (const { name } of definitions.queues)
      expect([name, await codeOf(broker, publish('', name))]).toEqual([name, 403]);
  });

  test("RabbitMQ refuses to publish another service's events", async () => {
    for (const service of SERVICES) {
      const type = `${service.replaceAll('-', '_')}.nothing.happened`;
      const code = await codeOf(broker, publish('fitness.events', type));
      expect([service, code]).toEqual([service, service === user ? undefined : 403]);
    }
  });
});

test.each(['guest:guest@', ''])('RabbitMQ refuses the well-known user "%s"', async (user) => {
  const url = credential('gyms', 'AMQP_URL').replace(/\/\/.*@/, `//${user}`);
  const refusal = await refusalOf(() =>
    connectBroker({ url, namespace: NAMESPACE, log, startTimeoutMs: 2_000, topology: 'provisioned' }),
  );
  expect(refusal).toMatch(/ACCESS_REFUSED|403/);
});

/**
 * The MongoDB stand-in treats a privilege on one collection as one on its database. The operator's privileges are therefore
 * checked only on MongoDB. For every server, test/architecture/provisioning.test.ts compares the roles with a list.
 */
const knowsCollections = async (connection: Connection): Promise<boolean> => {
  const build = await connection.getClient().db('admin').command({ buildInfo: 1 });
  return build.secantusVersion === undefined;
};

describe.each([...SERVICES, 'operator'])('permissions of %s at MongoDB', (user) => {
  let connection: Connection;
  beforeAll(async () => {
    connection = await connectMongo({ uri: credential(user, 'MONGODB_URI'), database: 'admin' });
    closing.push(() => connection.close());
  });
  const databases = [
    ...SERVICES.map((name) => `fitness_${name.replaceAll('-', '_')}`).flatMap((name) => [
      name,
      `${name}_audit_seals`,
    ]),
    'fitness_wallet_seals',
  ];
  const collection = (db: string) => connection.getClient().db(db).collection('least_privilege');
  const allowedIn = async (use: (db: string) => Promise<unknown>): Promise<string[]> => {
    const allowed: string[] = [];
    for (const db of databases) if ((await refusalOf(() => use(db))) === undefined) allowed.push(db);
    return allowed;
  };
  const own = `fitness_${user.replaceAll('-', '_')}`;
  const ownSeals = [`${own}_audit_seals`, ...(user === 'wallet' ? ['fitness_wallet_seals'] : [])];

  test("MongoDB refuses to let a user read other services' databases", async () => {
    const isOfOperator = (await knowsCollections(connection))
      ? (name: string) => name.endsWith('_seals')
      : () => true;
    const readable = user === 'operator' ? databases.filter(isOfOperator) : [own, ...ownSeals];
    expect(await allowedIn((db) => collection(db).findOne())).toEqual(readable);
  });

  test("MongoDB refuses to let a user write to other services' databases or change seals", async () => {
    const ofServices = databases.filter((name) => !name.endsWith('_seals'));
    const ofOperator = (await knowsCollections(connection)) ? [] : ofServices;
    const isOperator = user === 'operator';
    const inserting = (db: string) => collection(db).insertOne({});
    const updating = (db: string) => collection(db).updateMany({}, { $set: { changed: true } });
    const deleting = (db: string) => collection(db).deleteMany({});
    expect(await allowedIn(inserting)).toEqual(isOperator ? ofOperator : [own, ...ownSeals]);
    expect(await allowedIn(updating)).toEqual(isOperator ? ofOperator : [own]);
    expect(await allowedIn(deleting)).toEqual(isOperator ? [] : [own]);
  });

  test('MongoDB refuses to let a user create users', async () => {
    const command = { createUser: 'intruder', pwd: 'x', roles: [{ role: 'root', db: 'admin' }] };
    expect(await refusalOf(() => connection.getClient().db('admin').command(command))).toMatch(
      /not authorized/i,
    );
    expect(
      await refusalOf(() =>
        connection
          .getClient()
          .db(own)
          .command({ ...command, roles: [] }),
      ),
    ).toMatch(/not authorized/i);
  });
});

test('MongoDB does not let the operator change audit logs', async () => {
  const connection = await connectMongo({ uri: credential('operator', 'MONGODB_URI'), database: 'admin' });
  closing.push(() => connection.close());
  for (const name of SERVICES) {
    const database = connection.getClient().db(`fitness_${name.replaceAll('-', '_')}`);
    const entries = database.collection('audit_entries');
    const seals = connection.getClient().db(`${database.databaseName}_audit_seals`).collection('audit_seals');
    const always = [() => entries.deleteMany({}), () => seals.insertOne({}), () => seals.deleteMany({})];
    const byCollection = [
      () => entries.updateMany({}, { $set: { seal: null } }),
      () => database.collection('audit_keys').findOne(),
      () => database.collection('sequences').updateMany({}, { $set: { value: 0 } }),
    ];
    for (const work of (await knowsCollections(connection)) ? [...always, ...byCollection] : always)
      expect(await refusalOf(work)).toMatch(/not authorized/i);
  }
});

test('MongoDB lets a service end its own transactions, for example those of killed processes', async () => {
  const open = () => connectMongo({ uri: credential('gyms', 'MONGODB_URI'), database: 'fitness_gyms' });
  const [dead, living] = [await open(), await open()];
  closing.push(
    () => dead.close(),
    () => living.close(),
  );
  const session = await dead.startSession();
  session.startTransaction();
  await dead.collection('least_privilege').insertOne({}, { session });
  await living
    .getClient()
    .db('admin')
    .command({ killSessions: [{ id: session.id?.id }] });
  expect(await refusalOf(() => session.commitTransaction())).toBeDefined();
  await session.endSession();
});

test('MongoDB refuses a client without a user', async () => {
  const uri = credential('gyms', 'MONGODB_URI')
    .replace(/\/\/.*@/, '//')
    .replace(/[?&]authSource=\w+/, '');
  const connection = await connectMongo({ uri, database: 'fitness_gyms', startTimeoutMs: 0 });
  closing.push(() => connection.close());
  const refusal = await refusalOf(() => connection.collection('gyms').findOne());
  expect(refusal).toMatch(/requires authentication/i);
});
