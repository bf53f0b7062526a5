/** The configuration of the gateway. Only this file reads its environment. */
import {
  commonShape,
  grpcAddresses,
  httpReplicas,
  parseConfig,
  publicUrl,
  redisUrl,
} from '@fitness/shared/kernel/config.ts';
import { DEMO_APP } from '@fitness/shared/kernel/known-values.ts';
import { isOneLine } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import type { Service } from './request/routes.ts';

const isOrigin = (text: string): boolean =>
  URL.canParse(text) && new URL(text).origin === text && !text.includes('*');

const origins = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim().replace(/\/$/, '')))
  .refine((entries) => entries.every(isOrigin), 'must be origins such as https://app.example.com');

const appText = z
  .string()
  .trim()
  .max(100)
  .refine(isOneLine, 'must be one line with a visible character')
  .transform((text) => text.replaceAll(/\s+/g, ' '));

const requestsPerMinute = z.coerce.number().int().positive();

const schema = z.object({
  ...commonShape(8080),
  /** Port of the standard gRPC health service. */
  GRPC_PORT: z.coerce.number().int().min(0).max(65_535).default(9100),
  /** Port for metrics and the health of all services. Clients must not reach it. */
  OPERATIONS_PORT: z.coerce.number().int().min(0).max(65_535).default(8081),
  IDENTITY_GRPC_ADDRESS: grpcAddresses.IDENTITY_GRPC_ADDRESS,
  IDENTITY_HTTP_URL: httpReplicas.default(['http://127.0.0.1:8101']),
  WALLET_HTTP_URL: httpReplicas.default(['http://127.0.0.1:8102']),
  GYMS_HTTP_URL: httpReplicas.default(['http://127.0.0.1:8103']),
  CONTENT_HTTP_URL: httpReplicas.default(['http://127.0.0.1:8104']),
  MEDIA_HTTP_URL: httpReplicas.default(['http://127.0.0.1:8105']),
  STORE_BILLING_HTTP_URL: httpReplicas.default(['http://127.0.0.1:8106']),
  /** Time limit for the headers of a service's response, and for each pause in its body. */
  UPSTREAM_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(30_000),
  /** Limit for concurrent requests; 503 above it. Each service may use a quarter of it, and so may downloads. */
  OPEN_REQUESTS_LIMIT: z.coerce.number().int().min(8).max(1_000_000).default(4_096),
  /** Limit for concurrent uploads. They are included in OPEN_REQUESTS_LIMIT. */
  OPEN_UPLOADS_LIMIT: z.coerce.number().int().min(1).max(100_000).default(256),
  /** Time limit for receiving a whole body, uploads excluded; 408 after it. */
  BODY_TIMEOUT_MS: z.coerce.number().int().min(100).max(300_000).default(10_000),
  /** Time limit for a pause in an upload; 408 after it. */
  UPLOAD_IDLE_TIMEOUT_MS: z.coerce.number().int().min(100).max(120_000).default(20_000),
  /** Number of trusted proxies in front. The client's address is read that far from the end of X-Forwarded-For. */
  TRUST_PROXY: z.coerce.number().int().min(0).max(10).default(0),
  /** Origins of pages that may call the API, separated by commas. Default: none, or any origin with SEED_DEMO. */
  CORS_ORIGINS: publicUrl(z.union([z.literal('*'), origins]).optional(), { allowsLocal: true }),
  /** Where to report a vulnerability. Default: none, and no security.txt is published. */
  SECURITY_CONTACT: z
    .string()
    .regex(/^(?:mailto:\S+@\S+|https:\/\/\S+)$/, 'must be mailto:… or https://…')
    .optional(),
  /** Names of the app and its developer in app stores, for `/account-deletion`. Required in production. */
  APP_NAME: appText.default(DEMO_APP.name),
  APP_DEVELOPER: appText.default(DEMO_APP.developer),
  /** Must equal the value of identity. `/account-deletion` shows it. */
  DELETION_GRACE_DAYS: z.coerce.number().positive().max(3_650).default(14),
  /** Limit for the requests of one client address per minute. Default: no limit. */
  ADDRESS_LIMIT_PER_MINUTE: requestsPerMinute.optional(),
  /** Holds the credential epochs, which show revoked tokens, and the counters of the address limit. */
  REDIS_URL: redisUrl,
  EVENTS_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/)
    .default('fitness'),
  /** The account that identity creates at start; the seed uses it to appoint the demo operator. */
  FIRST_ADMINISTRATOR_USERNAME: z.string().default('administrator'),
  /** Default: the password of the demo accounts. */
  FIRST_ADMINISTRATOR_PASSWORD: z.string().optional(),
});

export type GatewayConfig = z.output<typeof schema>;

/** Throws ConfigError, naming each wrong variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): GatewayConfig =>
  parseConfig(schema, env);

/** HTTP origins of the replicas of each service: one with a name, or several with IP addresses. */
export const serviceReplicas = (config: GatewayConfig): Record<Service, readonly string[]> => ({
  identity: config.IDENTITY_HTTP_URL,
  wallet: config.WALLET_HTTP_URL,
  gyms: config.GYMS_HTTP_URL,
  content: config.CONTENT_HTTP_URL,
  media: config.MEDIA_HTTP_URL,
  'store-billing': config.STORE_BILLING_HTTP_URL,
});
