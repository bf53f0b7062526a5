/** The stores, clients and platform services that the use cases depend on. Each use case takes only what it needs. */
import { createUserReader, type UserReader } from '@fitness/contracts/user.ts';
import type { AuditLog } from '@fitness/shared/audit/log.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { createProviderClient } from '@fitness/shared/http/provider-client.ts';
import type { Clock, Random } from '@fitness/shared/kernel/clock.ts';
import type { Journal } from '@fitness/shared/kernel/journal.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { RateLimiter } from '@fitness/shared/kernel/rate-limit.ts';
import type { KeyedDigest } from '@fitness/shared/kernel/settled-once.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import { openServiceJournal, ROOM_FOR_OTHERS } from '@fitness/shared/runtime/service-journal.ts';
import type { ServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { createPriceList, type PriceList } from './clients/price-list.ts';
import { createZibal, type PaymentGateway } from './clients/zibal.ts';
import { sealsDatabase, type WalletConfig } from './config.ts';
import { type OpenedDeposit, openedDepositSchema, type Payout, payoutSchema } from './domain/journal.ts';
import { createSeals, type Seals } from './store/seals.ts';
import { createStore, type Store } from './store/store.ts';

const CALLBACK_PATH = '/api/v1/payments/deposit/callback';
/** Sealing makes one query at a time. */
const SEAL_CONNECTIONS = 2;

/** In percent. */
interface Rates {
  gatewayFeePercent: number;
  commissionPercent: number;
  vatPercent: number;
}

export interface Dependencies {
  store: Store;
  seals: Seals;
  users: UserReader;
  gateway: PaymentGateway;
  priceList: PriceList;
  outbox: Outbox;
  audit: AuditLog;
  idempotency: Idempotency;
  depositJournal: Journal<OpenedDeposit>;
  payoutJournal: Journal<Payout>;
  limiter: RateLimiter;
  digest: KeyedDigest;
  clock: Clock;
  random: Random;
  log: Logger;
  rates: Rates;
  /** Where the callback redirects the payer's browser. If undefined, the callback returns JSON. */
  depositReturnUrl: string | undefined;
}

/** Closes everything again and rejects when the database of the seals or a journal cannot be opened. */
export const createDependencies = async (
  runtime: ServiceRuntime,
  config: WalletConfig,
): Promise<Dependencies> => {
  const { connection, sequences, clock, random, log, outbox, audit, idempotency, limiter, metrics, cleanup } =
    runtime;
  const seals = await openSeals(runtime, config);
  const http = createProviderClient({ target: 'zibal', metrics });
  cleanup.defer('zibal client', () => http.close());
  const identity = runtime.grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS);
  const storeBilling = runtime.grpcClient(
    'store-billing',
    grpcDefinitions.storeBilling(),
    config.STORE_BILLING_GRPC_ADDRESS,
  );
  return {
    store: createStore(connection, sequences, clock),
    seals,
    users: createUserReader(identity),
    gateway: createZibal({
      baseUrl: config.ZIBAL_BASE_URL,
      merchant: config.ZIBAL_MERCHANT,
      callbackUrl: `${config.PUBLIC_BASE_URL}${CALLBACK_PATH}`,
      http,
    }),
    priceList: createPriceList(storeBilling),
    outbox,
    audit,
    idempotency,
    // Members fill it, and operators must be able to record what they paid.
    depositJournal: await openServiceJournal('deposits', openedDepositSchema, runtime, config, {
      leaves: ROOM_FOR_OTHERS,
    }),
    payoutJournal: await openServiceJournal('payouts', payoutSchema, runtime, config),
    limiter,
    digest: runtime.signer.digest,
    clock,
    random,
    log,
    rates: {
      gatewayFeePercent: config.GATEWAY_FEE_PERCENT,
      commissionPercent: config.COMMISSION_PERCENT,
      vatPercent: config.VAT_PERCENT,
    },
    depositReturnUrl: config.APP_DEPOSIT_RETURN_URL,
  };
};

const openSeals = async ({ log, cleanup }: ServiceRuntime, config: WalletConfig): Promise<Seals> => {
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
