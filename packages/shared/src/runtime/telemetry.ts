/** Loads OpenTelemetry only if a collector is configured. Otherwise its modules cost no time or memory. */
import type { TelemetryConfig } from '../kernel/config.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import type { Telemetry } from './open-telemetry.ts';

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
