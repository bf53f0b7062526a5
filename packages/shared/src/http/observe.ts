/** What a process tells about each request: its span, its duration and its line in the log. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SECOND_MS } from '../kernel/clock.ts';
import { createAccessLog, type Logger, redactText } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import { childTraceparent, spanIdOf, startSpan, traceIdOf } from '../kernel/trace.ts';

/** A service logs requests that take longer. */
const SLOW_MS = SECOND_MS;
/** nginx's status for a request whose client disconnected; nobody receives it. */
const CLIENT_GONE = 499;

type Labels = Record<'method' | 'route' | 'status', string>;
type LogAnswer = (request: FastifyRequest, labels: Labels, elapsedMs: number) => void;

const isQuiet = (route: string): boolean => route.startsWith('/health') || route === '/metrics';

/** Begins the span and writes its id into the headers, for the log and for the service to which the gateway forwards them. */
const beginSpan = (request: FastifyRequest): void => {
  const { headers, method, routeOptions } = request;
  const parent = headers.traceparent as string | undefined;
  if (isQuiet(routeOptions.url ?? '')) {
    headers.traceparent = childTraceparent(parent);
    return;
  }
  const attributes = { 'http.request.method': method };
  request.span = startSpan(method, { kind: 'server', parent, attributes });
  headers.traceparent = request.span.traceparent;
};

const endSpan = ({ span }: FastifyRequest, { method, route, status }: Labels): void =>
  span?.end({
    name: `${method} ${route}`,
    attributes: { 'http.route': route, 'http.response.status_code': Number(status) },
    // A refusal is a response.
    error: Number(status) >= 500 ? status : undefined,
  });

/** Logs one line for each request. The gateway does this, because all requests pass through it. */
const logEvery = (log: Logger): LogAnswer => {
  const write = createAccessLog(log);
  return (request, labels, elapsedMs) => {
    if (isQuiet(labels.route)) return;
    const { id, headers, answeredBy } = request;
    write({
      ...traceOf(headers),
      // The client may have chosen the id.
      request_id: id === headers['x-request-id'] ? redactText(id) : id,
      ...labels,
      ...answeredBy,
      ms: Math.round(elapsedMs),
    });
  };
};

const traceOf = ({ traceparent }: FastifyRequest['headers']) => ({
  trace_id: traceIdOf(String(traceparent)),
  span_id: spanIdOf(String(traceparent)),
});

/** Logs slow requests. The error handler logs failures with their causes. */
const logSlow =
  (log: Logger): LogAnswer =>
  (request, labels, elapsedMs) => {
    if (elapsedMs < SLOW_MS) return log.debug(labels, 'request');
    const { id, headers } = request;
    log.warn({ ...traceOf(headers), request_id: id, ...labels, ms: Math.round(elapsedMs) }, 'slow request');
  };

export interface ObserveOptions {
  log: Logger;
  metrics: Metrics;
  /** Logs every request. By default only errors and requests longer than a second are logged. */
  logsRequests?: boolean;
  /** Paths that are shown as routes if no service has responded. */
  knownPaths?: ReadonlySet<string>;
}

/** Makes the function that begins the span of a request, and measures and logs it once its response has closed. */
export const createObserver = ({ log, metrics, logsRequests, knownPaths }: ObserveOptions) => {
  const logAnswer = logsRequests === true ? logEvery(log) : logSlow(log);
  const report = (request: FastifyRequest, reply: FastifyReply): void => {
    const route = request.routeOptions.url ?? 'unknown';
    const status = reply.raw.headersSent ? reply.raw.statusCode : CLIENT_GONE;
    const labels = { method: request.method, route, status: String(status) };
    // The gateway forwards most requests by a single route. The route of the service that has responded says more.
    const [path = ''] = request.url.split('?');
    const forwarded = request.answeredBy?.route ?? (knownPaths?.has(path) === true ? path : route);
    const answered = { ...labels, route: forwarded };
    metrics.httpDuration.observe(answered, reply.elapsedTime / 1_000);
    logAnswer(request, labels, reply.elapsedTime);
    endSpan(request, answered);
  };
  return (request: FastifyRequest, reply: FastifyReply): void => {
    beginSpan(request);
    // Fastify has no hook for a client that disconnects before its response ends.
    reply.raw.once('close', () => report(request, reply));
  };
};
