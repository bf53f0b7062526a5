/**
 * W3C trace context over HTTP, gRPC and RabbitMQ, and the spans of a trace. Nothing records them unless `runtime/telemetry.ts`
 * has loaded OpenTelemetry: each span is then its id alone.
 * Source: https://www.w3.org/TR/trace-context/
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';

export interface TraceContext {
  /** `00-<32 hex trace id>-<16 hex span id>-<2 hex flags>` */
  traceparent: string;
  requestId?: string | undefined;
}

const storage = new AsyncLocalStorage<TraceContext>();
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && TRACEPARENT.test(value);

/** Random bytes for many ids at once, because calling the generator for each id would cost more. */
const random = Buffer.alloc(4_096);
let used = random.length;

const randomHex = (bytes: number): string => {
  if (used + bytes > random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += bytes;
  return random.toString('hex', used - bytes, used);
};

/** A child of `parent` (same trace id, a new span id), or a new trace when there is no valid parent. */
export const childTraceparent = (parent?: string): string => {
  const spanId = randomHex(8);
  if (!isTraceparent(parent)) return `00-${randomHex(16)}-${spanId}-01`;
  return `00-${parent.slice(3, 35)}-${spanId}-${parent.slice(-2)}`;
};

export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35);

export const spanIdOf = (traceparent: string): string => traceparent.slice(36, 52);

/** Never contains values of a request, because they may be secret or personal. */
type SpanAttributes = Record<string, string | number>;

export interface SpanOptions {
  kind: 'server' | 'client' | 'producer' | 'consumer';
  /** The `traceparent` that caused it; without a valid one the span begins a trace. */
  parent: string | undefined;
  attributes?: SpanAttributes;
}

export interface SpanResult {
  /** Replaces the name that the span started with. */
  name?: string;
  attributes?: SpanAttributes;
  /** Why it failed: a code or the name of an error, without its message. */
  error?: string | undefined;
}

export interface Span {
  /** The `traceparent` of everything that the span causes. */
  readonly traceparent: string;
  end(result?: SpanResult): void;
}

export type StartSpan = (name: string, options: SpanOptions) => Span;

const doNothing = (): void => undefined;
const withoutRecord: StartSpan = (_name, { parent }) => ({
  traceparent: childTraceparent(parent),
  end: doNothing,
});

let recorder = withoutRecord;

/** Records the spans of this process with `start` from now on; undefined stops recording. */
export const recordSpans = (start: StartSpan | undefined): void => {
  recorder = start ?? withoutRecord;
};

export const startSpan: StartSpan = (name, options) => recorder(name, options);

export const currentTrace = (): TraceContext | undefined => storage.getStore();

export const currentTraceparent = (): string | undefined => storage.getStore()?.traceparent;

export const runWithTrace = <T>(context: TraceContext, fn: () => T): T => storage.run(context, fn);

/** Runs `fn` in the trace of `traceparent`, or in none if it is not valid. */
export const runWithTraceparent = <T>(traceparent: string | undefined, fn: () => T): T =>
  isTraceparent(traceparent) ? storage.run({ traceparent }, fn) : storage.exit(fn);

/** The type of `error` in a span: its code or its name. */
export const errorType = (error: unknown): string => {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return [code, name].find((text) => typeof text === 'string') ?? 'unknown';
};

/** Runs `work` in a span and ends it. A rejection is a failure unless `resultOf` returns another result. */
export const inSpan = async <T>(
  name: string,
  options: SpanOptions,
  work: () => Promise<T>,
  resultOf: (error: unknown) => SpanResult = (error) => ({ error: errorType(error) }),
): Promise<T> => {
  const span = startSpan(name, options);
  let result: SpanResult = {};
  try {
    return await storage.run({ ...storage.getStore(), traceparent: span.traceparent }, work);
  } catch (error) {
    result = resultOf(error);
    throw error;
  } finally {
    span.end(result);
  }
};
