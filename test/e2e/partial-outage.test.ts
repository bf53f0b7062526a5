/** The product while one of its parts is down. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import {
  type Account,
  api,
  baseUrl,
  eventually,
  expectStatus,
  register,
  stack,
  untilCodesAreSent,
} from './support.ts';

describe('service outages', () => {
  let account: Account;
  beforeAll(async () => {
    account = await register();
    await stack().stop('wallet');
  });
  afterAll(() => stack().start('wallet'));

  const isReady = async (): Promise<number> => (await fetch(`${baseUrl()}/health/ready`)).status;
  const expectOthersServed = async (): Promise<void> => {
    const { token } = account;
    expect((await api('GET', '/auth/me', { token })).status).toBe(200);
    expect((await api('GET', '/gyms')).status).toBe(200);
    const refused = await api('GET', '/payments', { token });
    expect([refused.status, Object.keys(refused.body)]).toEqual([503, ['message']]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  };

  test('the gateway stays ready and serves the others while a service is down', async () => {
    await expectOthersServed();
    expect(await isReady()).toBe(200);
  });

  test('a gateway that starts while a service is down becomes ready and serves the others', async () => {
    await stack().restart('gateway');
    await eventually(async () => (await isReady()) === 200);
    await expectOthersServed();
  });
});

describe('RabbitMQ outages', () => {
  const SERVICES = ['identity', 'gyms', 'content'] as const;
  let account: Account;
  let database: MongoClient;
  beforeAll(async () => {
    account = await register();
    database = await new MongoClient(stack().describe().servers.MONGODB_URI).connect();
    await stack().stop('rabbitmq');
  });
  afterAll(async () => {
    await stack().start('rabbitmq');
    await untilCodesAreSent();
    await database.close();
  });

  /** A service's readiness and its state of RabbitMQ. */
  const readinessOf = async (service: string): Promise<unknown> => {
    const response = await fetch(`${stack().part(service).url}/health/ready`).catch(() => undefined);
    const body = (await response?.json()) as { dependencies?: Record<string, { state: string }> } | undefined;
    return { status: response?.status, rabbitmq: body?.dependencies?.rabbitmq?.state };
  };
  const databaseOf = (service: string) =>
    database.db(stack().part(service).environment.MONGODB_DATABASE ?? '');

  test('services start, respond and write without RabbitMQ, and their events arrive later', async () => {
    for (const service of SERVICES) await stack().restart(service);
    for (const service of SERVICES)
      expect(await readinessOf(service)).toEqual({ status: 200, rabbitmq: 'down' });
    const { token } = account;
    expect((await api('GET', '/auth/me', { token })).status).toBe(200);
    const body = { name: 'Without a broker', address: 'Street 1', location_lat: 35.7, location_lng: 51.4 };
    const { gym } = expectStatus(await api('POST', '/gyms', { token, body }), 201).body;
    const waiting = databaseOf('gyms').collection('outbox');
    const subject = `/services/gyms/${gym.id}`;
    expect(await waiting.countDocuments({ aggregate: subject })).toBeGreaterThan(0);

    await stack().start('rabbitmq');
    await eventually(async () => (await waiting.countDocuments({ aggregate: subject })) === 0);
    const profiles = databaseOf('content').collection('profiles');
    await eventually(async () => (await profiles.countDocuments({ _id: `gym:${gym.id}` as never })) === 1);
  });
});

test('a running server is not started again, so it can still be stopped', async () => {
  const accepts = async (): Promise<boolean> => {
    const { hostname, port } = new URL(stack().describe().servers.AMQP_URL);
    const socket = connect(Number(port), hostname);
    const accepted = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return accepted;
  };
  await stack().start('rabbitmq');
  await stack().stop('rabbitmq');
  try {
    expect(await accepts()).toBe(false);
  } finally {
    await stack().start('rabbitmq');
  }
  expect(await accepts()).toBe(true);
  await untilCodesAreSent();
});
