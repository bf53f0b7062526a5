/**
 * For service tests: configuration with a database of its own on real servers, signed callers, and stand-ins of other
 * services over real gRPC.
 */
import { randomUUID } from 'node:crypto';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { createConnection } from 'mongoose';
import { type GrpcHandlers, type GrpcServer, grpcService, startGrpcServer } from '../grpc/server.ts';
import { CALLER_HEADER, type Caller, createCallerSigner, GUEST, type UserCaller } from '../kernel/caller.ts';
import { systemClock } from '../kernel/clock.ts';
import { createLog } from '../kernel/log.ts';
import { createMetrics } from '../kernel/metrics.ts';
import { MEMBER_PERMISSIONS, type Permission } from '../kernel/permissions.ts';
import { sleep } from '../kernel/timing.ts';
import { connectBroker } from '../messaging/broker.ts';
import { commandQueue } from '../messaging/topology.ts';
import type { RuntimeConfig } from '../runtime/service-runtime.ts';
import { deleteTopology } from './events.ts';

export const TEST_SECRET = 'a secret for tests, thirty-two characters or more';

const requiredVariable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined)
    throw new Error(`${name} is not set: run the tests by \`npm test\`, which starts the servers`);
  return value;
};

export const testServers = (): { MONGODB_URI: string; REDIS_URL: string; AMQP_URL: string } => ({
  MONGODB_URI: requiredVariable('MONGODB_URI'),
  REDIS_URL: requiredVariable('REDIS_URL'),
  AMQP_URL: requiredVariable('AMQP_URL'),
});

/** A configuration with its own database and namespace, on free ports. */
export const testConfig = (service: string): RuntimeConfig & { PUBLIC_BASE_URL: string } => {
  const id = randomUUID().slice(-12);
  return {
    NODE_ENV: 'test',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    HOST: '127.0.0.1',
    HTTP_PORT: 0,
    GRPC_PORT: 0,
    INTERNAL_AUTH_SECRET: TEST_SECRET,
    ...testServers(),
    MONGODB_DATABASE: `test_${service.replaceAll('-', '_')}_${id}`,
    EVENTS_NAMESPACE: `test-${id}`,
    PUBLIC_BASE_URL: 'http://api.test',
  };
};

export const dropDatabase = async (config: {
  MONGODB_URI: string;
  MONGODB_DATABASE: string;
}): Promise<void> => {
  const connection = await createConnection(config.MONGODB_URI, {
    dbName: config.MONGODB_DATABASE,
  }).asPromise();
  // On temporary servers nothing is dropped: SecantusDB blocks on a drop during an open transaction.
  if (process.env.TEST_KEEP_DATABASES === undefined) await connection.dropDatabase();
  await connection.close();
};

/**
 * A loopback address for servers that are stopped and started on the same port: no other worker takes the port meanwhile.
 * Only Linux answers on all of 127.0.0.0/8 by default.
 */
export const workerLoopback = (): string =>
  process.platform === 'linux' ? `127.0.0.${10 + Number(process.env.JEST_WORKER_ID ?? 0)}` : '127.0.0.1';

/** Deletes the queues of a service, for tests without a broker connection. */
export const dropQueues = async (
  config: RuntimeConfig,
  service: string,
  commands: readonly string[] = [],
): Promise<void> => {
  const broker = await connectBroker({
    url: config.AMQP_URL,
    namespace: config.EVENTS_NAMESPACE,
    name: 'test clean-up',
    log: createLog({ service: 'test', level: 'silent' }),
  });
  const queues = commands.map((command) => commandQueue(config.EVENTS_NAMESPACE, command));
  await deleteTopology(broker, { services: [service], queues });
  await broker.close();
};

export const testSigner = createCallerSigner(TEST_SECRET, systemClock);

/** A signed-in user, by default with the permissions of a member. */
export const caller = (
  userId: number,
  permissions: readonly Permission[] = MEMBER_PERMISSIONS,
): UserCaller => ({
  kind: 'user',
  userId,
  permissions: new Set(permissions),
  tokenId: `token-${userId}`,
  tokenKind: 'session',
});

/** The caller with a personal token that is restricted to these permissions. */
export const restrictedCaller = (userId: number, ...permissions: Permission[]): UserCaller => ({
  ...caller(userId, permissions),
  tokenKind: 'restricted',
});

/** The caller with the token of a third-party app with these scopes. */
export const appCaller = (userId: number, ...scopes: Permission[]): UserCaller => ({
  ...caller(userId, scopes),
  tokenKind: 'oauth',
});

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer under test has whatever shape it has
  body: any;
  text: string;
}

interface RequestOptions {
  as?: Caller;
  body?: unknown;
  headers?: Record<string, string>;
}

export type Send = (method: string, path: string, options?: RequestOptions) => Promise<Answer>;

const toAnswer = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
};

/** Sends signed requests to a service, as the gateway does. `path` is below `/api/v1`. */
export const apiClient =
  (baseUrl: string): Send =>
  async (method, path, { as = GUEST, body, headers = {} } = {}) => {
    const context = await testSigner.sign({ from: 'gateway', caller: as });
    const response = await fetch(`${baseUrl}/api/v1${path}`, {
      method,
      redirect: 'manual',
      headers: {
        [CALLER_HEADER]: context,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return toAnswer(response);
  };

/** A stand-in for other services on real gRPC; a call without a handler answers UNIMPLEMENTED. */
export const standIn = async (
  ...services: { definition: ServiceDefinition; handlers: Record<string, unknown> }[]
): Promise<GrpcServer> =>
  startGrpcServer({
    address: '127.0.0.1:0',
    services: services as never,
    signer: testSigner,
    metrics: createMetrics('stand-in', { defaults: false }),
    log: createLog({ service: 'stand-in', level: 'silent' }),
  });

/** One service of a stand-in. */
export const standInService = <Definition>(
  definition: Definition,
  handlers: Partial<GrpcHandlers<Definition>>,
): { definition: ServiceDefinition; handlers: Record<string, unknown> } =>
  grpcService(definition, handlers as unknown as GrpcHandlers<Definition>);

/**
 * Waits until `check` returns something other than undefined or false; rejects after `timeoutMs`. The default is more than
 * ten times what an idle machine needs, and less than the timeout of a test.
 */
export const eventually = async <T>(
  check: () => Promise<T | undefined | false> | T | undefined | false,
  { timeoutMs = 40_000, intervalMs = 25 } = {},
): Promise<T> => {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > giveUpAt) throw new Error('it did not happen in time');
    await sleep(intervalMs);
  }
};
