/** A collector of OpenTelemetry for tests: it accepts OTLP over HTTP in JSON, and stores it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Attributes = Record<string, unknown>;

export interface CollectedSpan {
  service: string;
  name: string;
  /** 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  attributes: Attributes;
  isFailed: boolean;
  startMs: number;
  endMs: number;
}

interface CollectedLog {
  service: string;
  body: unknown;
  severity: string;
  traceId: string;
  spanId: string;
  attributes: Attributes;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  logs: CollectedLog[];
  /** Every request as it came: its headers and its body. */
  requests: { path: string; headers: IncomingMessage['headers']; body: string }[];
  close(): Promise<void>;
}

interface Value {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  kvlistValue?: { values: KeyValue[] };
  arrayValue?: { values: Value[] };
}
interface KeyValue {
  key: string;
  value: Value;
}
interface Scope {
  spans?: Record<string, never>[];
  logRecords?: Record<string, never>[];
}
interface Resource {
  resource: { attributes: KeyValue[] };
  scopeSpans?: Scope[];
  scopeLogs?: Scope[];
}

const plainOf = ({ kvlistValue, arrayValue, ...simple }: Value): unknown => {
  if (kvlistValue !== undefined) return attributesOf(kvlistValue.values);
  if (arrayValue !== undefined) return arrayValue.values.map(plainOf);
  return simple.intValue === undefined ? Object.values(simple)[0] : Number(simple.intValue);
};

const attributesOf = (pairs: readonly KeyValue[] = []): Attributes =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, plainOf(value)]));

const msOf = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1_000n) / 1_000;

/** `answer` defaults to an empty success. */
export const startCollector = async (
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  },
): Promise<Collector> => {
  const [spans, logs, requests]: [CollectedSpan[], CollectedLog[], Collector['requests']] = [[], [], []];

  const take = ({ resource, scopeSpans = [], scopeLogs = [] }: Resource): void => {
    const service = String(attributesOf(resource.attributes)['service.name']);
    for (const { spans: exported = [] } of scopeSpans)
      spans.push(...exported.map((span) => toSpan(service, span)));
    for (const { logRecords = [] } of scopeLogs) logs.push(...logRecords.map((log) => toLog(service, log)));
  };

  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    requests.push({ path: request.url ?? '', headers: request.headers, body });
    const { resourceSpans, resourceLogs } = JSON.parse(body) as Record<string, Resource[]>;
    for (const resource of resourceSpans ?? resourceLogs ?? []) take(resource);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    logs,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const toSpan = (service: string, span: Record<string, never>): CollectedSpan => ({
  service,
  name: span.name ?? '',
  kind: span.kind ?? 0,
  traceId: span.traceId ?? '',
  spanId: span.spanId ?? '',
  parentSpanId: span.parentSpanId,
  attributes: attributesOf(span.attributes),
  isFailed: (span.status as { code?: number } | undefined)?.code === 2,
  startMs: msOf(String(span.startTimeUnixNano)),
  endMs: msOf(String(span.endTimeUnixNano)),
});

const toLog = (service: string, log: Record<string, never>): CollectedLog => ({
  service,
  body: plainOf((log.body ?? {}) as Value),
  severity: log.severityText ?? '',
  traceId: log.traceId ?? '',
  spanId: log.spanId ?? '',
  attributes: attributesOf(log.attributes),
});
