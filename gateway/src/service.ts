/** Composition root of the gateway. */
import { startDemoSeed } from '@fitness/demo/seed.ts';
import { grpcAddress } from '@fitness/shared/grpc/address.ts';
import { startGrpcServer } from '@fitness/shared/grpc/server.ts';
import { DEMO_PASSWORD } from '@fitness/shared/kernel/known-values.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type Cleanup, createCleanup, drain, shutdownTimes } from '@fitness/shared/runtime/lifecycle.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { startTelemetry } from '@fitness/shared/runtime/telemetry.ts';
import type { GatewayConfig } from './config.ts';
import { createDependencies, type Dependencies, type GatewayOverrides, NAME } from './dependencies.ts';
import { areReady, isReady } from './health/services-health.ts';
import { createHttpServer, createOperationsServer, ownUrlOf } from './http-server.ts';

interface RunningGateway extends RunningService {
  /** Origin of the metrics and the health of all services: `http://host:port`. */
  operationsUrl: string;
}

export const startGateway = async (
  config: GatewayConfig,
  overrides: GatewayOverrides = {},
): Promise<RunningGateway> => {
  const telemetry = await startTelemetry(NAME, config);
  const destination = telemetry?.logDestination;
  const log = overrides.log ?? createLog({ service: NAME, level: config.LOG_LEVEL, destination });
  telemetry?.reportTo(log);
  const cleanup = createCleanup(log);
  cleanup.defer('telemetry', () => telemetry?.close());
  try {
    const dependencies = await createDependencies(config, overrides, log, cleanup);
    const { health, metrics, signer, tls } = dependencies;
    const { drainMs, finishMs: closeGraceMs, exitMs } = shutdownTimes(config);
    const app = await createHttpServer(dependencies, { closeGraceMs });
    const address = grpcAddress(config.HOST, config.GRPC_PORT);
    const grpc = await startGrpcServer({ address, services: [], signer, tls, metrics, log, closeGraceMs });
    cleanup.defer('grpc server', () => grpc.close());
    const operations = createOperationsServer(dependencies);
    await operations.listen({ host: config.HOST, port: config.OPERATIONS_PORT });
    cleanup.defer('operations server', () => operations.close());
    const operationsUrl = ownUrlOf(operations);
    const url = await app.listen({ host: config.HOST, port: config.HTTP_PORT });
    cleanup.defer('http server', () => app.close());
    const ownUrl = ownUrlOf(app);
    if (config.SEED_DEMO) seedDemo(config, dependencies, ownUrl, cleanup);
    cleanup.defer('readiness', () => drain(health, grpc, drainMs));
    health.markStarted();
    log.info({ url, grpc: grpc.address, operations: operationsUrl }, 'listening');
    return {
      url: ownUrl,
      operationsUrl,
      grpcAddress: grpc.address,
      log,
      exitMs,
      close: () => cleanup.close(),
    };
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

const seedDemo = (
  config: GatewayConfig,
  { urls, agents, health, log }: Dependencies,
  apiUrl: string,
  cleanup: Cleanup,
): void => {
  const { FIRST_ADMINISTRATOR_USERNAME: username, FIRST_ADMINISTRATOR_PASSWORD: password = DEMO_PASSWORD } =
    config;
  const seed = startDemoSeed({
    apiUrl,
    sandboxUrl: config.SANDBOX_URL,
    administrator: { username, password },
    servicesReady: () => areReady(agents.internal, urls),
    identityReady: () => isReady(agents.internal, urls.identity),
    log,
  });
  health.add('demo_data', async () => {
    if (!seed.isDone()) throw new Error('not complete');
  });
  cleanup.defer('demo data', () => seed.stop());
};
