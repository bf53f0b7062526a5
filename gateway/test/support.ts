/** A gateway with stubs of all services over HTTP, and of identity over gRPC. */
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { CHECK_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import type { Caller, UserCaller } from '@fitness/shared/kernel/caller.ts';
import { unauthenticated } from '@fitness/shared/kernel/error.ts';
import {
  caller,
  standIn,
  standInService,
  testKeys,
  testSigner,
  workerLoopback,
} from '@fitness/shared/testing/harness.ts';
import { readConfig } from '../src/config.ts';
import type { GatewayOverrides } from '../src/dependencies.ts';
import { SERVICES, type Service } from '../src/request/routes.ts';
import { startGateway } from '../src/service.ts';

export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** From the signed context; undefined without a valid signature. */
  caller: Caller | undefined;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Upstream {
  url: string;
  /** Requests of public paths. */
  received: Received[];
  /** Paths whose headers the gateway asked the service to check. */
  checks: string[];
  /** Handles these checks. Undefined if the service cannot check headers alone. */
  check: Handler | undefined;
  /** Requests of other paths, except health and the OpenAPI document. */
  strays: string[];
  /** Responds instead of the default 200 `{service}`, before the body is read. */
  handler: Handler | undefined;
  /** Handles requests below `/internal`, which are otherwise recorded as strays. */
  internal: Handler | undefined;
  ready: boolean;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

const listenOn = (server: Server, port: number): Promise<number> =>
  new Promise((resolve) => {
    server.listen(port, workerLoopback(), () => resolve((server.address() as AddressInfo).port));
  });

const startUpstream = async (service: Service): Promise<Upstream> => {
  const signer = testSigner(service);
  const answerPublic: Handler = async (request, response) => {
    const { method = '', url = '', headers } = request;
    const context = signer.verify(String(headers['x-caller-context']));
    const received = { method, url, headers, body: Buffer.alloc(0), caller: context?.caller };
    upstream.received.push(received);
    if (upstream.handler !== undefined) return upstream.handler(request, response);
    try {
      received.body = Buffer.concat(await request.toArray());
      json(response, 200, { service });
    } catch {
      // The client disconnected.
    }
  };
  const answer: Handler = (request, response) => {
    const { url = '' } = request;
    if (url === '/health/ready') {
      const status = upstream.ready ? 'ready' : 'not_ready';
      const dependencies = {
        mongodb: { state: upstream.ready ? 'up' : 'down', latency_ms: 1, required: true },
      };
      return json(response, upstream.ready ? 200 : 503, { status, dependencies });
    }
    if (url.startsWith(`${CHECK_PREFIX}/`)) {
      upstream.checks.push(url.slice(CHECK_PREFIX.length));
      if (upstream.check === undefined)
        return json(response, 404, { message: 'We could not find what you are looking for.' });
      return upstream.check(request, response);
    }
    if (url.startsWith('/internal/') && upstream.internal !== undefined)
      return upstream.internal(request, response);
    if (/^\/(?:api\/v1|oauth)\//.test(url)) return answerPublic(request, response);
    upstream.strays.push(url);
    return json(response, 200, { secret: service });
  };
  let server = createServer(answer);
  const port = await listenOn(server, 0);
  const upstream: Upstream = {
    url: `http://${workerLoopback()}:${port}`,
    received: [],
    checks: [],
    check: undefined,
    strays: [],
    handler: undefined,
    internal: undefined,
    ready: true,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    start: async () => {
      server = createServer(answer);
      await listenOn(server, port);
    },
  };
  return upstream;
};

export interface Harness {
  url: string;
  operationsUrl: string;
  grpcAddress: string;
  upstreams: Record<Service, Upstream>;
  /** Users by token; deleting an entry revokes the token. */
  tokens: Map<string, UserCaller>;
  /** Deletion blockers by user id. */
  blockers: Map<number, { code: string; extras_json: string }[]>;
  /** The store id in identity's responses to introspections. */
  epochStoreId: string;
  /** Number of introspections. */
  introspections(): number;
  stopIdentityGrpc(): Promise<void>;
  /** Restores the initial state of every stub. */
  reset(): void;
  close(): Promise<void>;
}

export const MEMBER_TOKEN = 'fps_member';

export const startHarness = async (
  env: Record<string, string> = {},
  overrides: GatewayOverrides = {},
): Promise<Harness> => {
  const tokens = new Map<string, UserCaller>();
  const blockers: Harness['blockers'] = new Map();
  let introspections = 0;
  const identity: GrpcServer = await standIn(
    standInService(grpcDefinitions.identity(), {
      Introspect: async ({ token }) => {
        introspections += 1;
        const user = tokens.get(token ?? '');
        if (user === undefined) throw unauthenticated();
        return {
          user_id: user.userId,
          permissions: [...user.permissions],
          withheld: [...(user.withheld ?? [])],
          grantable: [...(user.grantable ?? [])],
          token_id: user.tokenId,
          token_kind: user.tokenKind,
          second_factor: user.hasSecondFactor === true,
          valid_for_ms: 60_000,
          epoch_store_id: harness.epochStoreId,
          audience: user.audience ?? '',
          page: user.page ?? '',
        };
      },
      GetDeletionBlockers: async (_request, { caller: user }) => ({
        blockers: (user.kind === 'user' ? blockers.get(user.userId) : undefined) ?? [],
      }),
    }),
  );
  const started = await Promise.all(
    SERVICES.map(async (service) => [service, await startUpstream(service)] as const),
  );
  const upstreams = Object.fromEntries(started) as Record<Service, Upstream>;
  const urls = started.map(([service, { url }]) => [
    `${service.toUpperCase().replaceAll('-', '_')}_HTTP_URL`,
    url,
  ]);
  const gateway = await startGateway(
    readConfig({
      NODE_ENV: 'test',
      LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      OPERATIONS_PORT: '0',
      ...testKeys('gateway'),
      IDENTITY_GRPC_ADDRESS: identity.address,
      PUBLIC_BASE_URL: 'https://api.example.com',
      ...Object.fromEntries(urls),
      // Nothing listens at this address, so every request introspects its token.
      REDIS_URL: 'redis://127.0.0.1:1',
      ...env,
    }),
    overrides,
  );
  const harness: Harness = {
    url: gateway.url,
    operationsUrl: gateway.operationsUrl,
    grpcAddress: gateway.grpcAddress,
    upstreams,
    tokens,
    blockers,
    epochStoreId: '',
    introspections: () => introspections,
    stopIdentityGrpc: () => identity.close(),
    reset: () => {
      introspections = 0;
      tokens.clear();
      blockers.clear();
      tokens.set(MEMBER_TOKEN, caller(7));
      for (const upstream of Object.values(upstreams)) {
        Object.assign(upstream, {
          received: [],
          checks: [],
          check: undefined,
          strays: [],
          handler: undefined,
          internal: undefined,
          ready: true,
        });
      }
    },
    close: async () => {
      await gateway.close();
      await identity.close();
      await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
    },
  };
  harness.reset();
  return harness;
};

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Sends a request without normalizing the path or adding headers other than Host. */
export const rawRequest = (
  url: string,
  path: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string | string[]>; body?: Buffer } = {},
): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const request = httpRequest({ hostname, port, path, method, headers, agent: false }, async (response) => {
      try {
        const text = Buffer.concat(await response.toArray()).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      } catch (error) {
        reject(error);
      }
    });
    request.once('error', reject);
    request.end(body);
  });

export const bearer = (token = MEMBER_TOKEN): Record<string, string> => ({
  authorization: `Bearer ${token}`,
});

/** The requests of all upstreams. */
export const allReceived = ({ upstreams }: Harness): Received[] =>
  Object.values(upstreams).flatMap(({ received }) => received);

export const allStrays = ({ upstreams }: Harness): string[] =>
  Object.values(upstreams).flatMap(({ strays }) => strays);
