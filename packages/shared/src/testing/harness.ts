/**
 * For service tests: configuration with a separate database on real servers, signed callers, and stand-ins of other
 * services over real gRPC.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { createConnection } from 'mongoose';
import { auditSealsOf } from '../audit/models.ts';
import { callersOf } from '../grpc/callers.ts';
import { createGrpcClient, type GrpcClient } from '../grpc/client.ts';
import { type GrpcHandlers, type GrpcServer, grpcService, startGrpcServer } from '../grpc/server.ts';
import { ROUTE_HEADER } from '../http/gateway-protocol.ts';
import { type Caller, GUEST, type UserCaller } from '../kernel/caller.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { createLog } from '../kernel/log.ts';
import { createMetrics } from '../kernel/metrics.ts';
import { MEMBER_PERMISSIONS, type Permission } from '../kernel/permissions.ts';
import { PROCESSES, type ProcessName } from '../kernel/process-name.ts';
import { sleep } from '../kernel/timing.ts';
import { type Broker, connectBroker } from '../messaging/broker.ts';
import { commandQueue } from '../messaging/topology.ts';
import { CALLER_HEADER, type CallerSigner, createCallerSigner } from '../process-identity/caller-context.ts';
import { keyDirectories } from '../process-identity/key-files.ts';
import { openProcessKeys, type ProcessKeys } from '../process-identity/process-keys.ts';
import type { RuntimeConfig } from '../runtime/runtime-options.ts';
import { assertErrorIsDocumented } from './documented-errors.ts';
import { deleteTopology, type ProvisionOptions, provisionQueues } from './events.ts';

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

/** The keys of `npm test` for one process. */
export const testKeys = (process: ProcessName): ReturnType<typeof keyDirectories> =>
  keyDirectories(requiredVariable('TEST_KEYS_DIRECTORY'), process);

/** A configuration with its own database and namespace, on free ports. */
export const testConfig = (service: ProcessName): RuntimeConfig & { PUBLIC_BASE_URL: string } => {
  const id = randomUUID().slice(-12);
  return {
    NODE_ENV: 'test',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    HOST: '127.0.0.1',
    HTTP_PORT: 0,
    GRPC_PORT: 0,
    ...testKeys(service),
    ...testServers(),
    AMQP_TOPOLOGY: 'declared',
    MONGODB_DATABASE: `test_${service.replaceAll('-', '_')}_${id}`,
    EVENTS_NAMESPACE: `test-${id}`,
    DRAIN_MS: 0,
    DEADLINE_FACTOR: 10,
    SHUTDOWN_GRACE_MS: 10_000,
    OTEL_TRACES_SAMPLER: 'parentbased_always_on',
    OTEL_TRACES_SAMPLER_ARG: 1,
    SEED_DEMO: false,
    PUBLIC_BASE_URL: 'http://api.test',
  };
};

export const dropDatabase = async (config: {
  MONGODB_URI: string;
  MONGODB_DATABASE: string;
}): Promise<void> => {
  // On temporary servers nothing is dropped: SecantusDB blocks on a drop during an open transaction.
  if (process.env.TEST_KEEP_DATABASES !== undefined) return;
  const connection = await createConnection(config.MONGODB_URI, {
    dbName: config.MONGODB_DATABASE,
  }).asPromise();
  await connection.dropDatabase();
  await auditSealsOf(connection).dropDatabase();
  await connection.close();
};

/**
 * A loopback address for servers that are stopped and started on the same port: no other worker takes the port meanwhile.
 * Only Linux accepts connections on all of 127.0.0.0/8 by default.
 */
export const workerLoopback = (): string =>
  process.platform === 'linux' ? `127.0.0.${10 + Number(process.env.JEST_WORKER_ID ?? 0)}` : '127.0.0.1';

const withBroker = async (config: RuntimeConfig, work: (broker: Broker) => Promise<void>): Promise<void> => {
  const broker = await connectBroker({
    url: config.AMQP_URL,
    namespace: config.EVENTS_NAMESPACE,
    name: 'queues of a test',
    log: createLog({ service: 'test', level: 'silent' }),
  });
  await work(broker).finally(() => broker.close());
};

/** {@link provisionQueues}, for tests without a broker connection. */
export const provisionQueuesOf = (
  config: RuntimeConfig,
  service: string,
  options?: ProvisionOptions,
): Promise<void> => withBroker(config, (broker) => provisionQueues(broker, service, options));

/** Deletes the queues of a service, for tests without a broker connection. */
export const dropQueues = (
  config: RuntimeConfig,
  service: string,
  commands: readonly string[] = [],
): Promise<void> => {
  const queues = commands.map((command) => commandQueue(config.EVENTS_NAMESPACE, command));
  return withBroker(config, (broker) => deleteTopology(broker, { services: [service], queues }));
};

const openTestKeys = (process: ProcessName): ProcessKeys => {
  const { PRIVATE_KEY_DIRECTORY, PUBLIC_KEYS_DIRECTORY } = testKeys(process);
  return openProcessKeys({
    process,
    privateDirectory: PRIVATE_KEY_DIRECTORY,
    publicDirectory: PUBLIC_KEYS_DIRECTORY,
    onProblem: (problem) => {
      throw problem;
    },
  });
};

/** Signs and verifies as `process` does. */
export const testSigner = (process: ProcessName, clock: Clock = systemClock): CallerSigner =>
  createCallerSigner({ keys: openTestKeys(process), clock });

/** Signs in the name of `process`, and under the id of its key, with another key. */
export const strangerSigner = (process: ProcessName, clock: Clock = systemClock): CallerSigner => {
  const keys = openTestKeys(process);
  const { privateKey } = generateKeyPairSync('ed25519');
  return createCallerSigner({
    keys: { ...keys, own: () => ({ id: keys.own().id, key: privateKey }) },
    clock,
  });
};

const signers = new Map<ProcessName, CallerSigner>();

const signerOf = (process: ProcessName): CallerSigner => {
  const signer = signers.get(process) ?? testSigner(process);
  signers.set(process, signer);
  return signer;
};

/** What the gateway signs for a request of `caller` to `audience`. */
export const gatewayContext = (audience: ProcessName, caller: Caller = GUEST): string =>
  signerOf('gateway').sign(audience, caller);

/** A client of one process; each call is signed by a process that may make it. */
export const testClient = <Definition>(
  target: ProcessName,
  definition: Definition,
  address: string,
  { from: named, ...options }: { deadlineMs?: number; from?: ProcessName } = {},
): GrpcClient<Definition> => {
  const clients = new Map<ProcessName, GrpcClient<Definition>>();
  const clientFor = (method: string): GrpcClient<Definition> => {
    const [first = 'gateway'] = callersOf((definition as ServiceDefinition)[method]?.path ?? method);
    const from = named ?? first;
    const client =
      clients.get(from) ??
      createGrpcClient({ definition, address, target, signer: signerOf(from), ...options });
    clients.set(from, client);
    return client;
  };
  return {
    call: (method, ...request) => clientFor(method).call(method, ...request),
    close: () => {
      for (const client of clients.values()) client.close();
    },
  };
};

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
  // biome-ignore lint/suspicious/noExplicitAny: a response under test has whatever shape it has
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

/** Sends signed requests to the service at `baseUrl`, as the gateway does. `path` is below `/api/v1`, `body` JSON or a form. */
export const apiClient =
  (service: ProcessName, baseUrl: string): Send =>
  async (method, path, { as = GUEST, body, headers = {} } = {}) => {
    const context = gatewayContext(service, as);
    const isJson = body !== undefined && !(body instanceof FormData);
    const response = await fetch(`${baseUrl}/api/v1${path}`, {
      method,
      redirect: 'manual',
      headers: {
        [CALLER_HEADER]: context,
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
    });
    const answer = await toAnswer(response);
    const route = answer.headers.get(ROUTE_HEADER)?.replaceAll(/:(\w+)/g, '{$1}');
    if (answer.status >= 400 && route !== undefined && answer.body !== undefined)
      await assertErrorIsDocumented(service, baseUrl, {
        method,
        path: route,
        status: answer.status,
        body: answer.body,
      });
    return answer;
  };

/** Accepts what was signed for any process: one server stands in for several. */
const signerOfAll: CallerSigner = {
  process: 'gateway',
  sign: (audience, caller) => signerOf('gateway').sign(audience, caller),
  verify: (context = '') => {
    const [, claims = ''] = context.split('.');
    const text = Buffer.from(claims, 'base64url').toString();
    const audience = PROCESSES.find((process) => text.includes(`"aud":"${process}"`));
    return audience === undefined ? undefined : signerOf(audience).verify(context);
  },
  digest: (purpose, text) => signerOf('gateway').digest(purpose, text),
};

const callListeners = new Set<(method: string) => void>();

/** `listener` runs for each call that a stand-in of this process receives, in the async context of the call. */
export const onStandInCall = (listener: (method: string) => void): void => {
  callListeners.add(listener);
};

type Handle = (...call: unknown[]) => unknown;

const announced = (handlers: Record<string, unknown>): Record<string, Handle> =>
  Object.fromEntries(
    Object.entries(handlers).map(([method, handle]) => [
      method,
      (...call) => {
        for (const listener of callListeners) listener(method);
        return (handle as Handle)(...call);
      },
    ]),
  );

/**
 * A stand-in for other services on real gRPC; a call without a handler returns UNIMPLEMENTED. It refuses what the
 * real services would refuse: a call of a process that is not declared for it.
 */
export const standIn = async (
  ...services: { definition: ServiceDefinition; handlers: Record<string, unknown> }[]
): Promise<GrpcServer> =>
  startGrpcServer({
    address: '127.0.0.1:0',
    services: services.map(({ definition, handlers }) => ({
      definition,
      handlers: announced(handlers),
    })) as never,
    signer: signerOfAll,
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
