/**
 * Exports traces and logs by OTLP. The spans are those of `kernel/trace.ts`, and the logs the lines that stdout gets, whose secrets
 * are redacted. Only `telemetry.ts` imports this module; others import its types.
 *
 * Every queue is limited to 2,048 spans or log lines; the rest is dropped. Only the end of the process waits for the collector,
 * for at most a second.
 */
import { randomUUID } from 'node:crypto';
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import pino, { type DestinationStream } from 'pino';
import manifest from '../../package.json' with { type: 'json' };
import { MINUTE_MS, SECOND_MS } from '../kernel/clock.ts';
import type { TelemetryConfig } from '../kernel/config.ts';
import type { Logger } from '../kernel/log.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { finishesWithin } from '../kernel/timing.ts';
import {
  isTraceparent,
  recordSpans,
  type SpanOptions,
  type StartSpan,
  spanIdOf,
  traceIdOf,
} from '../kernel/trace.ts';

/** A collector that hangs delays the end of the process by no more than this. */
const FLUSH_MS = SECOND_MS;
const SPAN_DELAY_MS = SECOND_MS;
const SCOPE = 'fitness';

export interface Telemetry {
  /** Writes the lines of the log to stdout, and exports them. */
  logDestination: DestinationStream;
  /** Logs failures of the export. */
  reportTo(log: Logger): void;
  /** Sends the queued data, for at most a second. */
  close(): Promise<void>;
}

export const openTelemetry = (process: ProcessName, endpoint: string, config: TelemetryConfig): Telemetry => {
  const resource = resourceFromAttributes({
    'service.name': config.OTEL_SERVICE_NAME ?? process,
    'service.version': manifest.version,
    'service.instance.id': randomUUID(),
  });
  const tracers = new TracerProvider({
    resource,
    sampler: samplerOf(config, process === 'gateway'),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }),
        scheduledDelayMillis: SPAN_DELAY_MS,
      }),
    ],
  });
  const loggers = new LoggerProvider({
    resource,
    processors: [
      new BatchLogRecordProcessor({ exporter: new OTLPLogExporter({ url: `${endpoint}/v1/logs` }) }),
    ],
  });
  recordSpans(spanStarter(tracers));
  return {
    logDestination: teeTo(loggers),
    reportTo: (log) => setGlobalErrorHandler(reporterTo(log)),
    close: async () => {
      recordSpans(undefined);
      // Data that is not sent by then is lost.
      await finishesWithin(Promise.allSettled([tracers.shutdown(), loggers.shutdown()]), FLUSH_MS);
    },
  };
};

const samplerOf = (
  { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: TelemetryConfig,
  isEdge: boolean,
): Sampler => {
  let root: Sampler = new AlwaysOnSampler();
  if (name.endsWith('always_off')) root = new AlwaysOffSampler();
  if (name.endsWith('traceidratio')) root = new TraceIdRatioBasedSampler(ratio);
  if (!name.startsWith('parentbased')) return root;
  // A client may name the trace that its request belongs to, but not have it recorded.
  const atEdge = isEdge ? { remoteParentSampled: root, remoteParentNotSampled: root } : {};
  return new ParentBasedSampler({ root, ...atEdge });
};

const KINDS: Record<SpanOptions['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

const spanStarter = (tracers: TracerProvider): StartSpan => {
  const tracer = tracers.getTracer(SCOPE, manifest.version);
  return (name, { kind, parent, attributes = {} }) => {
    const context = isTraceparent(parent) ? contextOf(parent) : ROOT_CONTEXT;
    const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, context);
    const { traceId, spanId, traceFlags } = span.spanContext();
    return {
      traceparent: `00-${traceId}-${spanId}-0${traceFlags}`,
      end: ({ name: finalName, attributes: finalAttributes, error } = {}) => {
        if (finalName !== undefined) span.updateName(finalName);
        if (finalAttributes !== undefined) span.setAttributes(finalAttributes);
        if (error !== undefined)
          span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  };
};

const contextOf = (traceparent: string): Context =>
  trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceIdOf(traceparent),
    spanId: spanIdOf(traceparent),
    traceFlags: Number.parseInt(traceparent.slice(-2), 16) & 1,
    isRemote: true,
  });

/** https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber */
const SEVERITIES: Record<string, number> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 };

interface LogLine {
  level: string;
  time: string;
  msg?: string;
  trace_id?: string;
  span_id?: string;
  service?: string;
  [field: string]: unknown;
}

/** A write has one line, or several from one tick of the event loop. */
const teeTo = (loggers: LoggerProvider): Telemetry['logDestination'] => {
  const stdout = pino.destination({ dest: 1, sync: true });
  const logger = loggers.getLogger(SCOPE, manifest.version);
  const emit = (line: string): void => {
    const {
      level,
      time,
      msg,
      trace_id: traceId,
      span_id: spanId,
      service: _,
      ...attributes
    } = JSON.parse(line) as LogLine;
    const isTraced = traceId !== undefined && spanId !== undefined;
    logger.emit({
      timestamp: new Date(time),
      severityNumber: SEVERITIES[level] ?? 0,
      severityText: level,
      body: msg ?? '',
      attributes: attributes as never,
      context: isTraced ? contextOf(`00-${traceId}-${spanId}-00`) : ROOT_CONTEXT,
    });
  };
  return {
    write: (text) => {
      stdout.write(text);
      for (const line of text.split('\n')) if (line !== '') emit(line);
    },
  };
};

/**
 * Logs at most once a minute, because each batch fails while the collector is absent. The error may contain
 * the collector's response.
 */
const reporterTo = (log: Logger): ((error: unknown) => void) => {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - reportedAt < MINUTE_MS) return;
    reportedAt = performance.now();
    const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
    log.warn(
      { reason: code ?? name },
      'telemetry does not reach the collector; what waits too long is dropped',
    );
  };
};
