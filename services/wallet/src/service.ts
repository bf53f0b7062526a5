/** Composition root of the wallet: wires everything, returns the addresses and close(). */
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { createProviderClient } from '@fitness/shared/http/provider-client.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { createUserDirectory } from '@fitness/shared/resources/user.ts';
import {
  type Foundation,
  type Overrides,
  openFoundation,
  type RunningService,
} from '@fitness/shared/service.ts';
import type { SweepResult } from './app/sweep-deposits.ts';
import { createUseCases } from './app/use-cases.ts';
import { createPriceList } from './clients/price-list.ts';
import { createZibal } from './clients/zibal.ts';
import { sealsDatabase, type WalletConfig } from './config.ts';
import { createConsumers } from './events/consumers.ts';
import { blockersGrpc } from './grpc/blockers.ts';
import { walletGrpc } from './grpc/wallet.ts';
import { createRoutes } from './http/routes.ts';
import { sealLedgerJob } from './jobs/seal-ledger.ts';
import { sweepDepositsJob } from './jobs/sweep-deposits.ts';
import { createSeals, type Seals } from './store/seals.ts';
import { createStore } from './store/store.ts';

const CALLBACK_PATH = '/api/v1/payments/deposit/callback';

export interface RunningWallet extends RunningService {
  /** One round of the job, now. */
  sweepDeposits(): Promise<SweepResult>;
  /** As above; how many entries were sealed. */
  sealLedger(): Promise<number>;
}

/** One process at a time seals, with one query after the other. */
const SEAL_CONNECTIONS = 2;

/** Opens the database of the seals; a service that cannot seal does not start. */
const openSeals = async ({ log, cleanup }: Foundation, config: WalletConfig): Promise<Seals> => {
  try {
    const connection = await connectMongo({
      ...sealsDatabase(config),
      log,
      appName: 'wallet-seals',
      maxPoolSize: SEAL_CONNECTIONS,
    });
    cleanup.defer('mongodb of the seals', () => connection.close());
    const seals = createSeals(connection);
    await seals.prepare();
    return seals;
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

export const startWallet = async (
  config: WalletConfig,
  overrides: Overrides = {},
): Promise<RunningWallet> => {
  const foundation = await openFoundation('wallet', config, overrides);
  const { connection, sequences, clock, log, outbox, idempotency, metrics, cleanup } = foundation;
  const http = createProviderClient({ target: 'zibal', metrics });
  cleanup.defer('zibal client', () => http.close());
  const useCases = createUseCases(
    {
      store: createStore({ connection, sequences, clock }),
      seals: await openSeals(foundation, config),
      outbox,
      clock,
      random: foundation.random,
      log,
      idempotency,
      rates: {
        gatewayFeePercent: config.GATEWAY_FEE_PERCENT,
        commissionPercent: config.COMMISSION_PERCENT,
        vatPercent: config.VAT_PERCENT,
      },
      users: createUserDirectory(
        foundation.grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS),
      ),
      gateway: createZibal({
        baseUrl: config.ZIBAL_BASE_URL,
        merchant: config.ZIBAL_MERCHANT,
        callbackUrl: `${config.PUBLIC_BASE_URL}${CALLBACK_PATH}`,
        http,
      }),
      priceList: createPriceList(
        foundation.grpcClient(
          'store-billing',
          grpcDefinitions.storeBilling(),
          config.STORE_BILLING_GRPC_ADDRESS,
        ),
      ),
    },
    config.APP_DEPOSIT_RETURN_URL,
  );
  const running = await foundation.serve({
    routes: createRoutes(useCases, config.PUBLIC_BASE_URL),
    grpc: [walletGrpc(useCases), blockersGrpc(useCases.evaluateBlocker)],
    consumers: createConsumers(useCases),
    jobs: [
      sweepDepositsJob(useCases.sweepDeposits, config.DEPOSIT_SWEEP_SECONDS),
      sealLedgerJob(useCases.sealLedger, config.LEDGER_SEAL_SECONDS),
    ],
  });
  return { ...running, sweepDeposits: useCases.sweepDeposits, sealLedger: useCases.sealLedger };
};
