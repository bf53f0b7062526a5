/** Composition root of store-billing. */
import { blockersService } from '@fitness/contracts/blockers.ts';
import type { Overrides } from '@fitness/shared/runtime/runtime-options.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { addWaitingMetrics } from '@fitness/shared/runtime/waiting-metrics.ts';
import type { StoreBillingConfig } from './config.ts';
import { createDependencies, type DependencyOverrides } from './dependencies.ts';
import { createConsumers } from './events/consumers.ts';
import { createStoreBillingService } from './grpc/store-billing.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs, type Rounds } from './jobs/jobs.ts';
import { createUpgrades } from './store/upgrades.ts';
import { createUseCases } from './use-cases.ts';

export interface StoreBillingOverrides extends Overrides, DependencyOverrides {
  /** Set by tests that call {@link RunningStoreBilling.rounds} themselves. */
  withoutJobs?: boolean;
}

export interface RunningStoreBilling extends RunningService {
  /** Runs one round of a job now. */
  rounds: Rounds;
  /** Resolves once no background task is running. */
  idle(): Promise<void>;
}

export const startStoreBilling = async (
  config: StoreBillingConfig,
  { withoutJobs = false, ...overrides }: StoreBillingOverrides = {},
): Promise<RunningStoreBilling> => {
  const runtime = await createServiceRuntime('store-billing', config, overrides);
  const dependencies = await createDependencies(runtime, config, overrides);
  const useCases = createUseCases(dependencies);
  const { catalogue, channel, idempotency, backgroundTasks, store } = dependencies;
  addWaitingMetrics(runtime, async () => {
    const [refund, purchase] = await Promise.all([
      store.refunds.waiting(),
      store.attempts.waiting(channel.name),
    ]);
    return { refund, purchase };
  });
  const running = await runtime.serve({
    routes: createRoutes(useCases, {
      catalogue,
      channel: channel.name,
      idempotency,
      baseUrl: config.PUBLIC_BASE_URL,
    }),
    grpc: [createStoreBillingService(useCases), blockersService(useCases.blockers)],
    consumers: createConsumers(useCases),
    upgrades: createUpgrades(useCases),
    jobs: withoutJobs ? [] : createJobs(useCases),
  });
  return { ...running, rounds: useCases, idle: () => backgroundTasks.idle() };
};
