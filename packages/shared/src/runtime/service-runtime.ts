/**
 * The common part of every service: connections, events, limits, transports. `services/<name>/src/service.ts` adds stores,
 * use cases and routes.
 */
import { createLog } from '../kernel/log.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { createCleanup, shutdownTimes } from './lifecycle.ts';
import { openPlatform, type Platform } from './platform.ts';
import type { Overrides, RuntimeConfig } from './runtime-options.ts';
import { type RunningService, serve, type Transports } from './serve.ts';
import { startTelemetry } from './telemetry.ts';

export interface ServiceRuntime extends Platform {
  /** Builds the indexes and runs the upgrades, then opens the transports. */
  serve(transports: Transports): Promise<RunningService>;
}

/** Connects to the servers of a service. When a connection fails, those that were opened are closed. */
export const createServiceRuntime = async (
  service: ProcessName,
  config: RuntimeConfig,
  overrides: Overrides = {},
): Promise<ServiceRuntime> => {
  const telemetry = await startTelemetry(service, config);
  const destination = telemetry?.logDestination;
  const log = overrides.log ?? createLog({ service, level: config.LOG_LEVEL, destination });
  telemetry?.reportTo(log);
  const cleanup = createCleanup(log);
  cleanup.defer('telemetry', () => telemetry?.close());
  try {
    const { onAdvance, ...platform } = await openPlatform(service, config, overrides, { log, cleanup });
    const options = { ...overrides, times: shutdownTimes(config), onAdvance };
    return { ...platform, serve: (transports) => serve(platform, config, transports, options) };
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};
