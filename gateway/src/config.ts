/** The only place of the gateway that reads the environment. */
import {
  ConfigError,
  commonShape,
  flag,
  grpcAddresses,
  parseConfig,
  seconds,
  url,
} from '@fitness/shared/config.ts';
import { z } from 'zod';
import type { Service } from './routes.ts';

const origin = url.transform((value) => value.replace(/\/+$/, ''));

const schema = z.object({
  ...commonShape(8080),
  /** The standard gRPC health service answers here; nothing else does. */
  GRPC_PORT: z.coerce.number().int().min(0).max(65_535).default(9100),
  IDENTITY_GRPC_ADDRESS: grpcAddresses.IDENTITY_GRPC_ADDRESS,
  IDENTITY_HTTP_URL: origin.default('http://127.0.0.1:8101'),
  WALLET_HTTP_URL: origin.default('http://127.0.0.1:8102'),
  GYMS_HTTP_URL: origin.default('http://127.0.0.1:8103'),
  CONTENT_HTTP_URL: origin.default('http://127.0.0.1:8104'),
  MEDIA_HTTP_URL: origin.default('http://127.0.0.1:8105'),
  STORE_BILLING_HTTP_URL: origin.default('http://127.0.0.1:8106'),
  /** How long a service may take to begin its answer, and between two pieces of it. */
  UPSTREAM_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(30_000),
  /** How many proxies of ours stand in front; the client's address is read that far from the end of X-Forwarded-For. */
  TRUST_PROXY: z.coerce.number().int().min(0).max(10).default(0),
  /** Off when not set. */
  ADDRESS_LIMIT_PER_MINUTE: seconds.optional(),
  /** Counts the limit above over all replicas; not used without it. */
  REDIS_URL: z.string().startsWith('redis', 'must be a redis:// address').default('redis://127.0.0.1:6379'),
  EVENTS_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/)
    .default('fitness'),
  SEED_DEMO: flag.default(false),
  /** Where the demo data is paid; the steps that move money are left out without it. */
  SANDBOX_URL: origin.optional(),
  /** Whom identity creates at its start; the demo data needs his hand once. */
  FIRST_ADMINISTRATOR_USERNAME: z.string().default('administrator'),
  FIRST_ADMINISTRATOR_PASSWORD: z.string().default('demo-password-1'),
});

export type GatewayConfig = z.output<typeof schema>;

/** Throws ConfigError, naming each wrong variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): GatewayConfig => {
  const config = parseConfig(schema, env);
  if (config.SEED_DEMO && config.NODE_ENV === 'production') {
    throw new ConfigError(
      'Wrong configuration: SEED_DEMO: accounts with a known password are refused in production',
    );
  }
  return config;
};

/** Where each service answers HTTP; no slash at the end. */
export const serviceUrls = (config: GatewayConfig): Record<Service, string> => ({
  identity: config.IDENTITY_HTTP_URL,
  wallet: config.WALLET_HTTP_URL,
  gyms: config.GYMS_HTTP_URL,
  content: config.CONTENT_HTTP_URL,
  media: config.MEDIA_HTTP_URL,
  'store-billing': config.STORE_BILLING_HTTP_URL,
});
