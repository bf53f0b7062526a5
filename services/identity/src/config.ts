/** The only place of this service that reads the environment. */
import { ConfigError, grpcAddresses, parseConfig, serviceShape, url } from '@fitness/shared/config.ts';
import { z } from 'zod';
import type { FirstAdministrator } from './app/first-administrator.ts';
import { emailField, passwordField, phoneField, usernameField } from './http/fields.ts';

const days = z.coerce.number().int().min(1).max(3_650);

const milliseconds = z.coerce.number().int().min(50).max(60_000);

const shape = {
  ...serviceShape('identity', 8101),
  WALLET_GRPC_ADDRESS: grpcAddresses.WALLET_GRPC_ADDRESS,
  GYMS_GRPC_ADDRESS: grpcAddresses.GYMS_GRPC_ADDRESS,
  CONTENT_GRPC_ADDRESS: grpcAddresses.CONTENT_GRPC_ADDRESS,
  MEDIA_GRPC_ADDRESS: grpcAddresses.MEDIA_GRPC_ADDRESS,
  STORE_BILLING_GRPC_ADDRESS: grpcAddresses.STORE_BILLING_GRPC_ADDRESS,
  /** How long a session, and a personal token without an end of its own, is valid. */
  TOKEN_LIFETIME_DAYS: days.default(30),
  /** How long an OAuth access token is valid; its client then refreshes it. */
  OAUTH_ACCESS_TOKEN_MINUTES: z.coerce.number().int().min(1).max(1_440).default(60),
  /** How long a client that does not come back can still refresh. */
  OAUTH_REFRESH_TOKEN_DAYS: z.coerce.number().int().min(1).max(365).default(30),
  /** From the confirmation of a deletion to the erasure; a fraction of a day is for trying it out. */
  DELETION_GRACE_DAYS: z.coerce.number().positive().max(3_650).default(14),
  /** How often each replica looks for accounts whose grace period is over. */
  PURGE_INTERVAL_MS: z.coerce.number().int().min(50).max(86_400_000).default(30_000),
  /** How long a deletion waits for the slowest of its blockers. */
  BLOCKER_DEADLINE_MS: milliseconds.default(3_000),
  /** How long a caller waits to learn whether an SMS went out; an unsent one is dropped then. */
  SMS_DEADLINE_MS: milliseconds.default(6_000),
  KAVENEGAR_BASE_URL: url.default('https://api.kavenegar.com'),
  /** Part of the address of every call to Kavenegar: a secret. */
  KAVENEGAR_API_KEY: z.string().min(1),
  /** Names of the templates at Kavenegar; `-en` or `-fa` is appended. */
  KAVENEGAR_DELETION_TEMPLATE: z.string().min(1).default('account-deletion'),
  KAVENEGAR_RESET_TEMPLATE: z.string().min(1).default('password-reset'),
  KAVENEGAR_TIMEOUT_MS: milliseconds.default(4_000),
  /** Created at start when there is no administrator; all four or none. */
  FIRST_ADMINISTRATOR_USERNAME: usernameField.optional(),
  FIRST_ADMINISTRATOR_EMAIL: emailField.optional(),
  FIRST_ADMINISTRATOR_PHONE: phoneField.optional(),
  FIRST_ADMINISTRATOR_PASSWORD: passwordField.optional(),
};

const schema = z.object(shape);

export type IdentityConfig = z.output<typeof schema>;

/** Throws ConfigError, naming each wrong variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): IdentityConfig => {
  const config = parseConfig(schema, env);
  const values = ['USERNAME', 'EMAIL', 'PHONE', 'PASSWORD'] as const;
  const missing = values.filter((value) => config[`FIRST_ADMINISTRATOR_${value}`] === undefined);
  if (missing.length === 0 || missing.length === values.length) return config;
  const names = missing.map((value) => `FIRST_ADMINISTRATOR_${value}`).join(', ');
  throw new ConfigError(`Wrong configuration: ${names}: needed with the other FIRST_ADMINISTRATOR_*`);
};

/** Undefined when none is asked for. */
export const firstAdministratorOf = (config: IdentityConfig): FirstAdministrator | undefined => {
  const {
    FIRST_ADMINISTRATOR_USERNAME: username,
    FIRST_ADMINISTRATOR_EMAIL: email,
    FIRST_ADMINISTRATOR_PHONE: phone,
    FIRST_ADMINISTRATOR_PASSWORD: password,
  } = config;
  if (username === undefined || email === undefined || phone === undefined || password === undefined) {
    return undefined;
  }
  return { username, email, phone, password };
};
