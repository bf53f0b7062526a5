/** Prometheus metrics of one process; the names are the same everywhere, the `service` label differs. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };
import { finishesWithin } from './timing.ts';
import { currentTraceparent, errorType, inSpan } from './trace.ts';

export type CounterMetric<Label extends string> = Counter<Label>;

export interface Metrics {
  registry: Registry;
  httpDuration: Histogram<'method' | 'route' | 'status'>;
  grpcServerDuration: Histogram<'method' | 'code'>;
  grpcClientDuration: Histogram<'target' | 'method' | 'code'>;
  breakerOpen: Gauge<'target'>;
  eventsHandled: Counter<'event' | 'outcome'>;
  certificateEnd: Gauge<'certificate'>;
  /**
   * A counter of one service. Every combination of its label values starts at 0, because an alert on its
   * rate would miss the first increment of a series that begins with it.
   */
  counter<Label extends string>(options: {
    name: string;
    help: string;
    labels: Record<Label, readonly string[]>;
  }): Counter<Label>;
  /**
   * Gauges whose values are read together at each scrape. If a read takes longer than three seconds, they have no value: an
   * outdated value would look current.
   */
  readGauges<Name extends string, Label extends string = never>(options: {
    /** Name → help. */
    gauges: Record<Name, string>;
    labelNames?: Label[];
    read(): Promise<readonly GaugeValues<Name, Label>[]>;
  }): void;
  /** Measures and traces a request to an external provider. It is `failed` if it rejects, except with a response (`isRefusal`). */
  measureProvider<Answer>(
    target: string,
    request: () => Promise<Answer>,
    isRefusal?: (error: unknown) => boolean,
  ): Promise<Answer>;
  /** All series in the Prometheus text format. */
  text(): Promise<string>;
}

interface GaugeValues<Name extends string, Label extends string = never> {
  labels?: Record<Label, string>;
  values: Record<Name, number>;
}

/** Well below the ten seconds that Prometheus waits for all values of a process. */
const READ_TIMEOUT_MS = 3_000;
const LATENCY_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The instruments that every process has. */
const createInstruments = (registers: Registry[]) => ({
  httpDuration: new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time to handle an HTTP request',
    labelNames: ['method', 'route', 'status'],
    buckets: LATENCY_BUCKETS_S,
    registers,
  }),
  grpcServerDuration: new Histogram({
    name: 'grpc_server_duration_seconds',
    help: 'Time to handle a gRPC call',
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
});

/** `defaults: false` omits the process-wide series, for several services in one test process. */
export const createMetrics = (service: string, { defaults = true } = {}): Metrics => {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  if (defaults) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  new Gauge({
    name: 'build_info',
    help: '1; its labels say what runs',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version: manifest.version, node: process.versions.node }, 1);
  const providerDuration = new Histogram({
    name: 'provider_request_duration_seconds',
    help: 'Time that a request to an external provider took, by outcome: answered, failed (no response, or a server error)',
    labelNames: ['target', 'outcome'],
    buckets: LATENCY_BUCKETS_S,
    registers,
  });
  return {
    registry,
    ...createInstruments(registers),
    counter: ({ labels, ...options }) => {
      const labelNames = Object.keys(labels) as (keyof typeof labels)[];
      const counter = new Counter({ ...options, labelNames, registers });
      for (const combination of combinationsOf<string>(labels)) counter.inc(combination as never, 0);
      return counter;
    },
    readGauges: (options) => addReadGauges(registry, options),
    measureProvider: async (target, request, isRefusal = () => false) => {
      const stop = providerDuration.startTimer({ target });
      const attributes = { 'service.peer.name': target };
      const span = { kind: 'client', parent: currentTraceparent(), attributes } as const;
      const resultOf = (error: unknown) => ({ error: isRefusal(error) ? undefined : errorType(error) });
      try {
        const answer = await inSpan(target, span, request, resultOf);
        stop({ outcome: 'answered' });
        return answer;
      } catch (error) {
        stop({ outcome: isRefusal(error) ? 'answered' : 'failed' });
        throw error;
      }
    },
    text: () => registry.metrics(),
  };
};

const addReadGauges = (
  registry: Registry,
  { gauges, labelNames = [], read }: Parameters<Metrics['readGauges']>[0],
): void => {
  let reading: ReturnType<typeof readInTime> | undefined;
  const readInTime = async (): Promise<Awaited<ReturnType<typeof read>>> => {
    let rows: Awaited<ReturnType<typeof read>> = [];
    const work = async (): Promise<void> => {
      rows = await read();
    };
    const isRead = await finishesWithin(work(), READ_TIMEOUT_MS).catch(() => false);
    return isRead ? rows : [];
  };
  // A scrape collects all gauges at the same time.
  const readOnce = (): ReturnType<typeof readInTime> => {
    reading ??= readInTime().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  for (const [name, help] of Object.entries(gauges)) {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const rows = await readOnce();
        this.reset();
        // A gauge without labels has the value 0 after its reset.
        this.remove({});
        for (const { labels, values } of rows) this.set(labels ?? {}, Number(values[name as never]));
      },
    });
  }
};

/** Each way to give every label one of its values. */
const combinationsOf = <Label extends string>(
  labels: Record<Label, readonly string[]>,
): Record<Label, string>[] =>
  Object.entries<readonly string[]>(labels).reduce<Record<string, string>[]>(
    (combinations, [label, values]) =>
      combinations.flatMap((each) => values.map((value) => ({ ...each, [label]: value }))),
    [{}],
  ) as Record<Label, string>[];
