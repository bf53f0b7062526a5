/** Prometheus metrics of one process; the names are the same everywhere, the `service` label differs. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type CounterMetric<Label extends string> = Counter<Label>;

export interface Metrics {
  registry: Registry;
  httpDuration: Histogram<'method' | 'route' | 'status'>;
  grpcServerDuration: Histogram<'method' | 'code'>;
  grpcClientDuration: Histogram<'target' | 'method' | 'code'>;
  breakerOpen: Gauge<'target'>;
  eventsHandled: Counter<'event' | 'outcome'>;
  certificateEnd: Gauge<'certificate'>;
  /** A counter of one service only. */
  counter<Label extends string>(options: { name: string; help: string; labelNames: Label[] }): Counter<Label>;
  /** A gauge that is read at each scrape. It has no value while `read` rejects or resolves to undefined. */
  gauge(options: { name: string; help: string; read: () => Promise<number | undefined> }): void;
  /** All series in the Prometheus text format. */
  text(): Promise<string>;
}

const LATENCY_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** `defaults: false` omits the process-wide series, for several services in one test process. */
export const createMetrics = (service: string, { defaults = true } = {}): Metrics => {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  if (defaults) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    httpDuration: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time to answer an HTTP request',
      labelNames: ['method', 'route', 'status'],
      buckets: LATENCY_BUCKETS_S,
      registers,
    }),
    grpcServerDuration: new Histogram({
      name: 'grpc_server_duration_seconds',
      help: 'Time to answer a gRPC call',
      labelNames: ['method', 'code'],
      buckets: LATENCY_BUCKETS_S,
      registers,
    }),
    grpcClientDuration: new Histogram({
      name: 'grpc_client_duration_seconds',
      help: 'Time that a gRPC call to another service took',
      labelNames: ['target', 'method', 'code'],
      buckets: LATENCY_BUCKETS_S,
      registers,
    }),
    breakerOpen: new Gauge({
      name: 'circuit_breaker_open',
      help: '1 while the circuit breaker of a target is open',
      labelNames: ['target'],
      registers,
    }),
    eventsHandled: new Counter({
      name: 'events_handled_total',
      help: 'Events by outcome: done, duplicate, retried, dead',
      labelNames: ['event', 'outcome'],
      registers,
    }),
    certificateEnd: new Gauge({
      name: 'tls_certificate_not_after_seconds',
      help: 'When the certificate of this process, or of the authority, ends: seconds since 1970',
      labelNames: ['certificate'],
      registers,
    }),
    counter: (options) => new Counter({ ...options, registers }),
    gauge: ({ read, ...options }) => {
      const gauge: Gauge = new Gauge({
        ...options,
        registers,
        collect: async () => {
          const value = await read().catch(() => undefined);
          if (value === undefined) gauge.remove();
          else gauge.set(value);
        },
      });
    },
    text: () => registry.metrics(),
  };
};
