/** Composition root: every emulated provider and the control routes in one process. */
import { type Clock, SECOND_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import Fastify, { type FastifyInstance, LogController } from 'fastify';
import { createSandboxClock } from './clock.ts';
import { API_URL, type SandboxConfig } from './config.ts';
import { control } from './control.ts';
import { answerOnlyFor } from './hosts.ts';
import { addPages } from './pages/routes.ts';
import { createProviderServers } from './provider-addresses.ts';
import { PROVIDERS } from './providers/index.ts';
import { addSample } from './sample/routes.ts';
import { createSmtpRelay } from './smtp.ts';
import { SandboxState } from './state.ts';
import type { Harness, ProviderAddress } from './wire.ts';

/** A port of 0, the default, is any free one. */
export interface SandboxOptions extends Partial<SandboxConfig> {
  clock?: Clock;
  /** How long the mode `slow` keeps a caller waiting. Default 30 seconds. */
  slowMs?: number;
}

export interface Sandbox {
  /** Origin without a trailing slash, for example `http://127.0.0.1:8090`. */
  url: string;
  /** In the order of {@link PROVIDERS}. */
  addresses: readonly ProviderAddress[];
  smtpPort: number;
  close(): Promise<void>;
}

const SLOW_MS = 30 * SECOND_MS;
/** Purchase tokens are long, and they are path segments. */
const MAX_SEGMENT_LENGTH = 4_096;

/** An empty body is treated as absent, whatever its content type. A body of an unknown type is ignored. */
function acceptBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parseJson(request, body as string, done);
  });
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
}

function answerErrors(app: FastifyInstance): void {
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ message: `The sandbox has no route ${request.method} ${request.url}` }),
  );
  app.setErrorHandler<Error & { statusCode?: number }>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) request.log.error({ err: error }, 'request failed');
    return reply.code(status).send({ message: error.message });
  });
}

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const realTime = options.clock ?? systemClock;
  const clock = createSandboxClock(realTime, options.clockFile);
  const { slowMs = SLOW_MS, apiUrl = API_URL } = options;
  const isFollowed = options.seedDemo === true;
  const harness: Harness = { state: new SandboxState(clock), clock, realTime, isFollowed, slowMs, apiUrl };
  const app = Fastify({
    logger: { level: options.logLevel ?? 'silent' },
    // Provider keys, purchase tokens and codes are in the URLs, so only route patterns are logged, below.
    logController: new LogController({ disableRequestLogging: true }),
    // A caller kept waiting by the mode `slow` must not delay the shutdown.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: MAX_SEGMENT_LENGTH },
  });
  acceptBodies(app);
  answerErrors(app);
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' });
  });
  const { host = '127.0.0.1', port = 0, providerPort = 0 } = options;
  answerOnlyFor(app, [host, ...(options.hosts ?? [])]);
  app.addHook('onResponse', async (request, reply) => {
    const route = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
    request.log.debug(
      { route, status: reply.statusCode, durationMs: Math.round(reply.elapsedTime) },
      'answered',
    );
  });

  const addresses: ProviderAddress[] = [];
  await addPages(app, harness, { addresses });
  addSample(app, apiUrl);
  app.get('/health/live', async () => ({ status: 'ok' }));
  for (const { prefix, mount } of [...PROVIDERS, { prefix: '/_sandbox', mount: control }]) {
    await app.register(async (scope) => mount(scope, harness), { prefix });
  }

  const providerServers = createProviderServers(app);

  const relay = createSmtpRelay(harness);
  app.addHook('onClose', () => relay.close());

  try {
    const url = await app.listen({ host, port });
    addresses.push(...(await providerServers.listen({ host, firstPort: providerPort })));
    const smtpPort = await relay.listen({ host, port: options.smtpPort ?? 0 });
    return { url, addresses, smtpPort, close: () => app.close() };
  } catch (error) {
    await app.close();
    throw error;
  }
}
