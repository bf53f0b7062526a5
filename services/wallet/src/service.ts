/** Composition root of the wallet. */
import { blockersService } from '@fitness/contracts/blockers.ts';
import type { Overrides } from '@fitness/shared/runtime/runtime-options.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { addWaitingMetrics } from '@fitness/shared/runtime/waiting-metrics.ts';
import type { WalletConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createConsumers } from './events/consumers.ts';
import { createWalletService } from './grpc/wallet.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs } from './jobs/jobs.ts';
import { createUpgrades } from './store/upgrades.ts';
import { createUseCases, type UseCases } from './use-cases.ts';

/** Includes the jobs, so tests can run one round on demand. */
export type RunningWallet = RunningService & Pick<UseCases, 'sweepDeposits' | 'sealLedger'>;

export const startWallet = async (
  config: WalletConfig,
  overrides: Overrides = {},
): Promise<RunningWallet> => {
  const runtime = await createServiceRuntime('wallet', config, overrides);
  const dependencies = await createDependencies(runtime, config);
  const useCases = createUseCases(dependencies);
  const { sweepDeposits, sealLedger, blockers } = useCases;
  addWaitingMetrics(runtime, () => dependencies.store.payments.waiting(runtime.clock.now()));
  const running = await runtime.serve({
    routes: createRoutes(useCases, {
      idempotency: dependencies.idempotency,
      baseUrl: config.PUBLIC_BASE_URL,
    }),
    grpc: [createWalletService(useCases), blockersService(blockers)],
    consumers: createConsumers(useCases),
    jobs: createJobs(useCases, config),
    upgrades: createUpgrades(dependencies),
    audits: ['ledger'],
  });
  return { ...running, sweepDeposits, sealLedger };
};
