/**
 * What service tests share: a configuration of their own on the real servers, signed callers, stand-ins of other
 * services that speak real gRPC. Used by tests only.
 */
import { randomUUID } from 'node:crypto';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { createConnection } from 'mongoose';
import { CALLER_HEADER, type Caller, createCallerSigner, GUEST, type UserCaller } from '../caller.ts';
import { systemClock } from '../clock.ts';
import { connectBroker } from '../events/broker.ts';
import { commandQueue } from '../events/rpc-protocol.ts';
import { deleteTopology } from '../events/testing.ts';
import { type GrpcHandlers, type GrpcServer, grpcService, startGrpcServer } from '../grpc/server.ts';
import { createLog } from '../log.ts';
import { createMetrics } from '../metrics.ts';
import type { Permission } from '../permissions.ts';
import type { FoundationConfig } from '../service.ts';

export const TEST_SECRET = 'a secret for tests, thirty-two characters or more';

const needed = (name: string): string => {
  const value = process.env[name];
  if (value === undefined)
    throw new Error(`${name} is not set: run the tests by \`npm test\`, which starts the servers`);
  return value;
};

export const testServers = (): { MONGODB_URI: string; REDIS_URL: string; AMQP_URL: string } => ({
  MONGODB_URI: needed('MONGODB_URI'),
  REDIS_URL: needed('REDIS_URL'),
  AMQP_URL: needed('AMQP_URL'),
});

/** A configuration with a database and a namespace of its own, on free ports. */
export const testConfig = (service: string): FoundationConfig & { PUBLIC_BASE_URL: string } => {
  const id = randomUUID().slice(0, 8);
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
  // Where the servers are temporary nothing is dropped: a stand-in of MongoDB hangs on it beside an open transaction.
  if (process.env.TEST_KEEP_DATABASES === undefined) await connection.dropDatabase();
  await connection.close();
};

/** What a service of the test has declared on the broker; for tests that hold no connection to it themselves. */
export const dropQueues = async (
  config: FoundationConfig,
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

export const MEMBER_PERMISSIONS: readonly Permission[] = [
  'users.view_limited',
  'gyms.create',
  'gyms.update',
  'posts.create',
  'posts.view',
  'training_services.create',
  'payments.view_own',
  'payments.buy_premium',
  'payments.boost_own',
];

/** A signed-in user with the permissions of a member, or those given. */
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

/** Sends signed requests straight to a service, as the gateway would. `path` is below `/api/v1`. */
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

/** A stand-in of another service on real gRPC; a call that a test gives no handler for answers UNIMPLEMENTED. */
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

/** One service of a stand-in, typed by its definition. */
export const standInService = <Definition>(
  definition: Definition,
  handlers: Partial<GrpcHandlers<Definition>>,
): { definition: ServiceDefinition; handlers: Record<string, unknown> } =>
  grpcService(definition, handlers as unknown as GrpcHandlers<Definition>);

/**
 * Waits until `check` gives something other than undefined or false; fails after `timeoutMs`. The default is more than
 * ten times what an idle machine needs, and leaves a test's own minute room to say what did not happen.
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
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
};
