/** OpenTelemetry data of a use case that involves all transports. `SCREENSHOTS=<directory>` saves a picture of the trace. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CollectedSpan, type Collector, startCollector } from '@fitness/shared/testing/collector.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { drawTrace } from './draw-trace.ts';
import {
  type Account,
  api,
  arm,
  deposit,
  eventually,
  expectStatus,
  newestCode,
  PASSWORD,
  register,
  stack,
  untilCodesAreSent,
} from './support.ts';

const PARTS = ['identity', 'wallet', 'content', 'gateway'] as const;
const TRACE_ID = 'ace0'.repeat(8);
const EMAIL = 'identity.notification.email_requested';
const CLIENT_SPAN_ID = 'c11e'.repeat(4);

let collector: Collector;
let accounts: { trainer: Account; trainee: Account };
let serviceId: number;
let code: string;

const restartAll = async (environment: Record<string, string>): Promise<void> => {
  for (const part of PARTS) await stack().restart(part, environment);
};

/** A purchase whose client asks not to be recorded. */
const purchase = async (): Promise<void> => {
  const { trainer, trainee } = accounts;
  const body = { title: 'Traced', description: 'Plan', price: 10_000, duration_days: 30 };
  const created = await api('POST', '/training-services', { token: trainer.token, body });
  serviceId = expectStatus(created, 201).body.data.id;
  await deposit(trainee.token, 10_000);
  const bought = await api('POST', `/training-services/${serviceId}/purchase?note=${trainee.phone}`, {
    token: trainee.token,
    headers: {
      'idempotency-key': `traced-${serviceId}`,
      traceparent: `00-${TRACE_ID}-${CLIENT_SPAN_ID}-00`,
    },
  });
  expectStatus(bought, 201);
};

const traced = (): CollectedSpan[] => collector.spans.filter(({ traceId }) => traceId === TRACE_ID);

const withoutParent = (): CollectedSpan[] => {
  const ids = new Set([CLIENT_SPAN_ID, ...traced().map(({ spanId }) => spanId)]);
  return traced().filter(({ parentSpanId = '' }) => !ids.has(parentSpanId));
};

/** Names of `span` and its ancestors, oldest first. Queue names omit the namespace of this run. */
const pathTo = (span: CollectedSpan): string[] => {
  const parent = traced().find(({ spanId }) => spanId === span.parentSpanId);
  const { EVENTS_NAMESPACE = '' } = stack().part('identity').environment;
  const name = span.name.replace(` ${EVENTS_NAMESPACE}.`, ' ');
  return [...(parent === undefined ? [] : pathTo(parent)), `${span.service}: ${name}`];
};

beforeAll(async () => {
  collector = await startCollector();
  await restartAll({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-token=of-the-collector',
  });
  await untilCodesAreSent();
  accounts = { trainer: await register(), trainee: await register() };
  await purchase();
  // These two requests have secrets in their bodies.
  expectStatus(await arm(accounts.trainee), 200);
  code = await newestCode(accounts.trainee.phone);
  await api('POST', '/auth/login', {
    body: { login: accounts.trainee.phone, password: `${PASSWORD}-wrong` },
  });
  await eventually(
    () => ['smtp', `send ${EMAIL}`].every((name) => traced().some((span) => span.name === name)),
    { timeoutMs: 30_000 },
  );
  // Each process sends its spans independently. If any are missing, the test reports them.
  const isComplete = (): boolean =>
    withoutParent().length === 0 &&
    traced().some(({ service, name }) => service === 'wallet' && name.endsWith('/Book'));
  await eventually(isComplete, { timeoutMs: 15_000 }).catch(() => undefined);
  await eventually(() => collector.spans.some(({ name }) => name === 'kavenegar'), { timeoutMs: 30_000 });
});

afterAll(async () => {
  await restartAll({});
  await collector.close();
  await untilCodesAreSent();
});

test('one trace leads through HTTP, gRPC, outbox, RabbitMQ and the consumers to the provider', () => {
  const spans = traced();
  if (process.env.SCREENSHOTS !== undefined)
    writeFileSync(join(process.env.SCREENSHOTS, 'trace.svg'), drawTrace(spans));
  expect(withoutParent()).toEqual([]);
  const root = spans.filter(({ parentSpanId }) => parentSpanId === CLIENT_SPAN_ID);
  expect(root.map(({ service, kind }) => [service, kind])).toEqual([['gateway', 2]]);
  const paths = spans.map((span) => pathTo(span).join(' > '));
  const route = 'POST /api/v1/training-services/:id/purchase';
  expect(paths).toContain(
    `gateway: ${route} > gateway: fitness.identity.v1.Identity/Introspect > identity: fitness.identity.v1.Identity/Introspect`,
  );
  const booking = `gateway: ${route} > content: ${route} > content: fitness.wallet.v1.Wallet/Book > wallet: fitness.wallet.v1.Wallet/Book`;
  expect(paths).toContain(booking);
  const sold = paths.filter((path) => path.endsWith('identity: smtp'));
  const event = 'content.trainee.purchased';
  expect(sold).toEqual([
    [
      `gateway: ${route}`,
      `content: ${route}`,
      `content: create ${event}`,
      `identity: process identity.events.${event}`,
      `identity: create ${EMAIL}`,
      `identity: process identity.events.${EMAIL}`,
      'identity: smtp',
    ].join(' > '),
  ]);
  // The outbox span of each service lasts until the broker has confirmed.
  expect(
    paths.filter((path) => / > [a-z]+: send [^>]+$/.test(path)).map((path) => path.split(': send ')[1]),
  ).toEqual(expect.arrayContaining([event, EMAIL]));
});

describe('exported data', () => {
  test('exported log lines have the trace ids of the spans', async () => {
    const line = await eventually(() =>
      collector.logs.find(({ traceId, service }) => traceId === TRACE_ID && service === 'gateway'),
    );
    // On a busy machine, the request is a slow one.
    expect([
      { body: 'request', severity: 'info' },
      { body: 'slow request', severity: 'warn' },
    ]).toContainEqual({ body: line.body, severity: line.severity });
    expect(traced().find(({ spanId }) => spanId === line.spanId)).toMatchObject({
      service: 'gateway',
      kind: 2,
    });
  });

  test("exported data has the collector's headers, and contains no secret or request value", () => {
    const { trainer, trainee } = accounts;
    expect(collector.requests.map(({ headers }) => headers['x-collector-token'])).not.toContain(undefined);
    const apiKey = stack().part('identity').environment.KAVENEGAR_API_KEY ?? '';
    const secrets = [trainer, trainee].flatMap(({ token, phone, email, username }) => [
      token,
      // The phone number is checked in each of its forms.
      phone.slice(-10),
      email,
      username,
    ]);
    const values = [...secrets, PASSWORD, code, apiKey, `/training-services/${serviceId}`];
    const sent = collector.requests.map(({ body }) => body).join('\n');
    expect(values.filter((value) => value.length < 5 || sent.includes(value))).toEqual([]);
    expect(collector.spans.flatMap(({ attributes }) => Object.keys(attributes)).filter(isUnknown)).toEqual(
      [],
    );
  });
});

/** Reviewed attributes. Before you add one, check whether its values can be secret or personal. */
const KNOWN = new Set([
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'messaging.destination.name',
  'messaging.operation.name',
  'messaging.operation.type',
  'messaging.system',
  'rpc.method',
  'rpc.response.status_code',
  'rpc.system.name',
  'service.peer.name',
]);
const isUnknown = (name: string): boolean => !KNOWN.has(name);

describe('the modules of OpenTelemetry', () => {
  const directory = mkdtempSync(join(tmpdir(), 'modules-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** The number of OpenTelemetry modules that a serving process loads until it stops. */
  const loadedBy = async (environment: Record<string, string>): Promise<number> => {
    const hook = join(directory, 'hook.mjs');
    const list = join(directory, 'list.json');
    writeFileSync(
      hook,
      `import { writeFileSync } from 'node:fs';
      import { registerHooks } from 'node:module';
      const urls = [];
      registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
      process.on('exit', () => writeFileSync(${JSON.stringify(list)}, JSON.stringify(urls)));`,
    );
    await stack().restart('gyms', { ...environment, NODE_OPTIONS: `--import=${hook}` });
    expectStatus(await api('GET', '/gyms'), 200);
    await stack().restart('gyms');
    const urls = JSON.parse(readFileSync(list, 'utf8')) as string[];
    expect(urls.length).toBeGreaterThan(100);
    // prom-client needs the interfaces.
    return urls.filter((url) => /\/@opentelemetry\/(?!api\/)/.test(url)).length;
  };

  test('the modules are not loaded without a collector', async () => {
    expect(await loadedBy({})).toBe(0);
    expect(await loadedBy({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).toBeGreaterThan(50);
  });
});
