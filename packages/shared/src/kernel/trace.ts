/**
 * W3C trace context over HTTP, gRPC and RabbitMQ. Written here because only the `traceparent` header is needed, not the
 * spans and exporters of an SDK.
 * Source: https://www.w3.org/TR/trace-context/
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

export interface TraceContext {
  /** `00-<32 hex trace id>-<16 hex span id>-<2 hex flags>` */
  traceparent: string;
  requestId?: string | undefined;
}

const storage = new AsyncLocalStorage<TraceContext>();
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && TRACEPARENT.test(value);

/** A child of `parent` (same trace id, a new span id), or a new trace when there is no valid parent. */
export const childTraceparent = (parent?: string): string => {
  const spanId = randomBytes(8).toString('hex');
  if (!isTraceparent(parent)) return `00-${randomBytes(16).toString('hex')}-${spanId}-01`;
  return `00-${parent.slice(3, 35)}-${spanId}-${parent.slice(-2)}`;
};

export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35);

export const currentTrace = (): TraceContext | undefined => storage.getStore();

export const currentTraceparent = (): string | undefined => storage.getStore()?.traceparent;

export const runWithTrace = <T>(context: TraceContext, fn: () => T): T => storage.run(context, fn);

/** Runs `fn` as a child of `traceparent`, or at the root of a new trace. */
export const runWithTraceparent = <T>(traceparent: string | undefined, fn: () => T): T =>
  storage.run({ traceparent: childTraceparent(traceparent) }, fn);
