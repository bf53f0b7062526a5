/** OpenTelemetry, loaded only where a collector is configured: otherwise none of its modules costs time or memory. */
import type { DestinationStream } from 'pino';
import type { TelemetryConfig } from '../kernel/config.ts';
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { ProcessName } from '../kernel/process-name.ts';

export interface Telemetry {
  /** Writes the lines of the log to stdout, and exports them. */
  logDestination: DestinationStream;
  /** Exports `metrics` until the returned function is called, which sends the last values. `log`: for failures of any export. */
  exportMetrics(metrics: Metrics, log: Logger): () => Promise<void>;
  /** Sends what waits, for a second at most. */
  close(): Promise<void>;
}

/** Undefined without a collector. Spans are recorded from now on. */
export const startTelemetry = async (
  process: ProcessName,
  config: TelemetryConfig,
): Promise<Telemetry | undefined> => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  if (endpoint === undefined) return undefined;
  const { openTelemetry } = await import('./open-telemetry.ts');
  return openTelemetry(process, endpoint, config);
};
