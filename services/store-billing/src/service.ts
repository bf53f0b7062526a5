/** Composition root: wires the parts of store-billing and opens its doors. */
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { createProviderClient } from '@fitness/shared/http/provider-client.ts';
import {
  type Foundation,
  type Overrides,
  openFoundation,
  type RunningService,
} from '@fitness/shared/service.ts';
import { createAcknowledgeAll } from './app/acknowledge.ts';
import { createBackground } from './app/background.ts';
import { createEvaluateBlocker } from './app/blockers/active-premium.ts';
import { createBuyBoost } from './app/buy-boost.ts';
import { createBuyFromWallet, createSweepWalletPurchases } from './app/buy-from-wallet.ts';
import { createBuyPremium } from './app/buy-premium.ts';
import { createForgetTarget, createForgetUser } from './app/close-slot.ts';
import type { BillingDeps } from './app/deps.ts';
import { createListRefunds } from './app/list-refunds.ts';
import { createLookAgain } from './app/look-again.ts';
import { createLookUp } from './app/look-up.ts';
import { REQUEST_PATIENCE_MS } from './app/patience.ts';
import { createRedeemStorePurchase } from './app/redeem-store-purchase.ts';
import { createTellBoostEnds } from './app/tell-boost-ends.ts';
import { createVerifyAttempts } from './app/verify-attempts.ts';
import { createChannel } from './channels/index.ts';
import { createTargets } from './clients/targets.ts';
import { createWallet } from './clients/wallet.ts';
import type { StoreBillingConfig } from './config.ts';
import { createCatalogue } from './domain/offer.ts';
import { createConsumers } from './events/consumers.ts';
import { blockersGrpc } from './grpc/blockers.ts';
import { storeBillingGrpc } from './grpc/store-billing.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs, type JobRounds } from './jobs/jobs.ts';
import { createStore } from './store/store.ts';

export interface StoreBillingOverrides extends Overrides {
  /** For tests that run the rounds themselves, and look at what stands between two of them. */
  withoutJobs?: boolean;
  /** For how long a request is tried that others stand in the way of. */
  requestPatienceMs?: number;
}

export interface RunningStoreBilling extends RunningService {
  /** One round of each job, for who does not want to wait for the next. */
  rounds: JobRounds;
  /** Resolves when nothing that a request began is under way. */
  idle(): Promise<void>;
}

const connectParts = (
  foundation: Foundation,
  config: StoreBillingConfig,
  requestPatienceMs: number,
): BillingDeps => {
  const { connection, sequences, outbox, clock, random, log, idempotency, metrics, cleanup } = foundation;
  const client = createProviderClient({
    target: config.STORE_CHANNEL,
    metrics,
    deadlineMs: config.STORE_TIMEOUT_MS,
  });
  cleanup.defer('store client', () => client.close());
  const background = createBackground(log);
  cleanup.defer('background work', () => background.idle());
  return {
    store: createStore(connection, sequences, random),
    outbox,
    clock,
    random,
    log,
    idempotency,
    background,
    requestPatienceMs,
    catalogue: createCatalogue({
      premiumPlusRial: config.PRICE_PREMIUM_PLUS_RIAL,
      boostBasicRial: config.PRICE_BOOST_BASIC_RIAL,
      boostProRial: config.PRICE_BOOST_PRO_RIAL,
      boostBasicDays: config.BOOST_BASIC_DAYS,
      boostProDays: config.BOOST_PRO_DAYS,
    }),
    channel: createChannel(config, { client, clock }),
    targets: createTargets(
      foundation.grpcClient('gyms', grpcDefinitions.gyms(), config.GYMS_GRPC_ADDRESS),
      foundation.grpcClient('content', grpcDefinitions.content(), config.CONTENT_GRPC_ADDRESS),
    ),
    wallet: createWallet(
      foundation.grpcClient('wallet', grpcDefinitions.wallet(), config.WALLET_GRPC_ADDRESS),
    ),
  };
};

export const startStoreBilling = async (
  config: StoreBillingConfig,
  { withoutJobs = false, requestPatienceMs = REQUEST_PATIENCE_MS, ...overrides }: StoreBillingOverrides = {},
): Promise<RunningStoreBilling> => {
  const foundation = await openFoundation('store-billing', config, overrides);
  const deps = connectParts(foundation, config, requestPatienceMs);
  const buy = createBuyFromWallet(deps);
  const rounds: JobRounds = {
    verifyAttempts: createVerifyAttempts(deps),
    acknowledgeAll: createAcknowledgeAll(deps),
    lookAgain: createLookAgain(deps),
    sweepWalletPurchases: createSweepWalletPurchases(deps),
    tellBoostEnds: createTellBoostEnds(deps),
  };
  const running = await foundation.serve({
    routes: createRoutes({
      redeem: createRedeemStorePurchase(deps),
      catalogue: deps.catalogue,
      channel: deps.channel.name,
      listRefunds: createListRefunds(deps),
      baseUrl: config.PUBLIC_BASE_URL,
      buyPremium: createBuyPremium(deps, buy),
      buyBoost: createBuyBoost(deps, buy),
      idempotency: deps.idempotency,
    }),
    grpc: [storeBillingGrpc(createLookUp(deps)), blockersGrpc(createEvaluateBlocker(deps))],
    consumers: createConsumers({
      forgetUser: createForgetUser(deps),
      forgetTarget: createForgetTarget(deps),
    }),
    jobs: withoutJobs ? [] : createJobs(rounds),
  });
  return { ...running, rounds, idle: () => deps.background.idle() };
};
