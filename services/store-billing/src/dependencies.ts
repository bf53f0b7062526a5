/** The dependencies of the use cases: stores, clients and platform services. Each use case picks what it needs. */

import { createUserReader, type UserReader } from '@fitness/contracts/user.ts';
import type { AuditLog } from '@fitness/shared/audit/log.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { createProviderClient } from '@fitness/shared/http/provider-client.ts';
import type { Clock, Random } from '@fitness/shared/kernel/clock.ts';
import { scaledDeadline } from '@fitness/shared/kernel/config.ts';
import type { Journal } from '@fitness/shared/kernel/journal.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { KeyedDigest } from '@fitness/shared/kernel/settled-once.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import { type BackgroundTasks, createBackgroundTasks } from '@fitness/shared/runtime/background-tasks.ts';
import { openServiceJournal } from '@fitness/shared/runtime/service-journal.ts';
import type { ServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import type { StoreChannel } from './channels/channel.ts';
import { createChannel } from './channels/index.ts';
import { createTargets, type Targets } from './clients/targets.ts';
import { createWallet, type Wallet } from './clients/wallet.ts';
import type { StoreBillingConfig } from './config.ts';
import { confirmedPurchaseSchema, type JournaledPurchase } from './domain/journal.ts';
import { type Catalogue, createCatalogue } from './domain/offer.ts';
import { REQUEST_TRANSACTION_TIMEOUT_MS } from './domain/transaction-timeout.ts';
import { createStore, type Store } from './store/store.ts';

export interface Dependencies {
  store: Store;
  catalogue: Catalogue;
  channel: StoreChannel;
  targets: Targets;
  wallet: Wallet;
  users: UserReader;
  outbox: Outbox;
  audit: AuditLog;
  idempotency: Idempotency;
  purchaseJournal: Journal<JournaledPurchase>;
  backgroundTasks: BackgroundTasks;
  digest: KeyedDigest;
  clock: Clock;
  realTime: Clock;
  random: Random;
  log: Logger;
  requestTransactionTimeoutMs: number;
}

export interface DependencyOverrides {
  /** Default {@link REQUEST_TRANSACTION_TIMEOUT_MS}. */
  requestTransactionTimeoutMs?: number;
}

/** Closes everything and rejects if the journal cannot be opened. */
export const createDependencies = async (
  runtime: ServiceRuntime,
  config: StoreBillingConfig,
  { requestTransactionTimeoutMs = scaledDeadline(REQUEST_TRANSACTION_TIMEOUT_MS) }: DependencyOverrides = {},
): Promise<Dependencies> => {
  const {
    connection,
    sequences,
    outbox,
    audit,
    clock,
    realTime,
    random,
    log,
    idempotency,
    metrics,
    cleanup,
  } = runtime;
  const client = createProviderClient({
    target: config.STORE_CHANNEL,
    metrics,
    deadlineMs: config.STORE_TIMEOUT_MS,
  });
  cleanup.defer('store client', () => client.close());
  const backgroundTasks = createBackgroundTasks(log);
  cleanup.defer('background tasks', () => backgroundTasks.idle());
  return {
    store: createStore(connection, sequences, { random, realTime }),
    catalogue: createCatalogue({
      premiumPlusRial: config.PRICE_PREMIUM_PLUS_RIAL,
      boostBasicRial: config.PRICE_BOOST_BASIC_RIAL,
      boostProRial: config.PRICE_BOOST_PRO_RIAL,
      boostBasicDays: config.BOOST_BASIC_DAYS,
      boostProDays: config.BOOST_PRO_DAYS,
    }),
    channel: createChannel(config, { client, clock, realTime }),
    targets: createTargets(
      runtime.grpcClient('gyms', grpcDefinitions.gyms(), config.GYMS_GRPC_ADDRESS),
      runtime.grpcClient('content', grpcDefinitions.content(), config.CONTENT_GRPC_ADDRESS),
    ),
    wallet: createWallet(runtime.grpcClient('wallet', grpcDefinitions.wallet(), config.WALLET_GRPC_ADDRESS)),
    users: createUserReader(
      runtime.grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS),
    ),
    outbox,
    audit,
    idempotency,
    purchaseJournal: await openServiceJournal('store-purchases', confirmedPurchaseSchema, runtime, config),
    backgroundTasks,
    digest: runtime.signer.digest,
    clock,
    realTime,
    random,
    log,
    requestTransactionTimeoutMs,
  };
};
