/**
 * W3C trace context over HTTP, gRPC and RabbitMQ. Written here because only the `traceparent` header is needed, not the
 * spans and exporters of an SDK.
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

/** Filled for many ids at once: a call of the generator costs more than an id. */
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

export const currentTrace = (): TraceContext | undefined => storage.getStore();

export const currentTraceparent = (): string | undefined => storage.getStore()?.traceparent;

export const runWithTrace = <T>(context: TraceContext, fn: () => T): T => storage.run(context, fn);

/** Runs `fn` as a child of `traceparent`, or at the root of a new trace. */
export const runWithTraceparent = <T>(traceparent: string | undefined, fn: () => T): T =>
  storage.run({ traceparent: childTraceparent(traceparent) }, fn);
