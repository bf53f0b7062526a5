/** The configuration, from the environment. */
import {
  commonShape,
  grpcAddresses,
  journalShape,
  parseConfig,
  percent,
  providerUrl,
  publicUrl,
  seconds,
  serviceShape,
  url,
} from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';

const HTTP_PORT = 8102;

const shape = {
  ...serviceShape('wallet', HTTP_PORT),
  ...journalShape,
  IDENTITY_GRPC_ADDRESS: grpcAddresses.IDENTITY_GRPC_ADDRESS,
  STORE_BILLING_GRPC_ADDRESS: grpcAddresses.STORE_BILLING_GRPC_ADDRESS,
  ZIBAL_BASE_URL: providerUrl('https://gateway.zibal.ir'),
  /** Our merchant key at the payment gateway. */
  ZIBAL_MERCHANT: z.string().min(1),
  /** Fee that the payer pays on top of the credited amount, in percent of that amount. */
  GATEWAY_FEE_PERCENT: percent.default(1),
  /** The platform's share of a sale between users, in percent of the price. */
  COMMISSION_PERCENT: percent.default(10),
  /** VAT contained in fees, commissions and the platform's prices, in percent of the net amount; 0 means no VAT. */
  VAT_PERCENT: percent.default(0),
  /** Where the callback redirects the payer's browser. Without it, the callback returns JSON. */
  APP_DEPOSIT_RETURN_URL: publicUrl(url.optional()),
  /** Interval between verifications of deposits without a callback. */
  DEPOSIT_SWEEP_SECONDS: seconds.default(30),
  /** Interval at which booked entries are sealed and published. */
  LEDGER_SEAL_SECONDS: seconds.default(1),
  /** MongoDB server of the seals, preferably a different one than the ledger's. Defaults to the ledger's. */
  LEDGER_SEALS_MONGODB_URI: z.string().startsWith('mongodb', 'must be a mongodb:// address').optional(),
  /** Defaults to the name of the ledger's database with the suffix `_seals`. */
  LEDGER_SEALS_DATABASE: z
    .string()
    .regex(/^[\w-]{1,63}$/)
    .optional(),
};

const schema = z.object(shape);

export type WalletConfig = z.output<typeof schema>;

/** Throws ConfigError with every invalid variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): WalletConfig =>
  parseConfig(schema, env);

const auditSchema = z.object({
  LOG_LEVEL: commonShape(HTTP_PORT).LOG_LEVEL,
  MONGODB_URI: shape.MONGODB_URI,
  MONGODB_DATABASE: shape.MONGODB_DATABASE,
  LEDGER_SEALS_MONGODB_URI: shape.LEDGER_SEALS_MONGODB_URI,
  LEDGER_SEALS_DATABASE: shape.LEDGER_SEALS_DATABASE,
});

export type AuditConfig = z.output<typeof auditSchema>;

/**
 * The audit only needs the databases. Operators name each service's database in a separate variable (`databaseOf`), because
 * their other commands refuse `MONGODB_DATABASE`. Throws like {@link readConfig}.
 */
export const readAuditConfig = (env: Record<string, string | undefined> = process.env): AuditConfig =>
  parseConfig(auditSchema, {
    ...env,
    MONGODB_DATABASE: env.MONGODB_DATABASE || env.WALLET_MONGODB_DATABASE,
  });

export const sealsDatabase = (config: Omit<AuditConfig, 'LOG_LEVEL'>): { uri: string; database: string } => ({
  uri: config.LEDGER_SEALS_MONGODB_URI ?? config.MONGODB_URI,
  database: config.LEDGER_SEALS_DATABASE ?? `${config.MONGODB_DATABASE}_seals`,
});
