/** The environment variables of identity. */
import {
  ConfigError,
  grpcAddresses,
  parseConfig,
  providerUrl,
  serviceShape,
} from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';
import { emailField, passwordField, phoneField, usernameField } from './domain/account-fields.ts';

const days = z.coerce.number().int().min(1).max(3_650);

const milliseconds = z.coerce.number().int().min(50).max(60_000);

const shape = {
  ...serviceShape('identity', 8101),
  WALLET_GRPC_ADDRESS: grpcAddresses.WALLET_GRPC_ADDRESS,
  GYMS_GRPC_ADDRESS: grpcAddresses.GYMS_GRPC_ADDRESS,
  CONTENT_GRPC_ADDRESS: grpcAddresses.CONTENT_GRPC_ADDRESS,
  MEDIA_GRPC_ADDRESS: grpcAddresses.MEDIA_GRPC_ADDRESS,
  STORE_BILLING_GRPC_ADDRESS: grpcAddresses.STORE_BILLING_GRPC_ADDRESS,
  /** The lifetime of session tokens, and the default one of personal tokens. */
  TOKEN_LIFETIME_DAYS: days.default(30),
  /** The lifetime of OAuth access tokens. */
  OAUTH_ACCESS_TOKEN_MINUTES: z.coerce.number().int().min(1).max(1_440).default(60),
  /** The lifetime of OAuth refresh tokens that are not used. */
  OAUTH_REFRESH_TOKEN_DAYS: z.coerce.number().int().min(1).max(365).default(30),
  /** From the confirmation of a deletion to the erasure; fractions are for demonstrations. */
  DELETION_GRACE_DAYS: z.coerce.number().positive().max(3_650).default(14),
  /** How often each replica purges accounts whose grace period is over. */
  PURGE_INTERVAL_MS: z.coerce.number().int().min(50).max(86_400_000).default(30_000),
  /** For the evaluation of each deletion blocker. */
  BLOCKER_DEADLINE_MS: milliseconds.default(3_000),
  /** How long a request waits for the outcome of an SMS; an SMS that was not sent by then is dropped. */
  SMS_DEADLINE_MS: milliseconds.default(6_000),
  KAVENEGAR_BASE_URL: providerUrl('https://api.kavenegar.com'),
  /** A secret. Kavenegar takes it in the path of the URL. */
  KAVENEGAR_API_KEY: z.string().min(1),
  /** Template names at Kavenegar; the locale is appended: `-en`, `-fa`. */
  KAVENEGAR_DELETION_TEMPLATE: z.string().min(1).default('account-deletion'),
  KAVENEGAR_RESET_TEMPLATE: z.string().min(1).default('password-reset'),
  KAVENEGAR_TIMEOUT_MS: milliseconds.default(4_000),
  /** Created at start when no administrator exists; all four or none. */
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

/** Undefined when none is configured. */
export const firstAdministratorOf = (config: IdentityConfig) => {
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
