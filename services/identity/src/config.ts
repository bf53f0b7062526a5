/** The environment variables of identity. */
import {
  ConfigError,
  flag,
  grpcAddresses,
  journalShape,
  milliseconds,
  parseConfig,
  providerUrl,
  serviceShape,
  smtpUrl,
} from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';
import type { FcmOptions } from './clients/fcm.ts';
import type { SmtpOptions } from './clients/mail.ts';
import { requireSmsProvider, smsVariables } from './clients/sms-providers/index.ts';
import { emailField, newUsernameField, passwordField, phoneField } from './domain/account-fields.ts';
import { MAX_FAILED_ATTEMPTS, MAX_FAILED_ATTEMPTS_IN_ALL } from './domain/confirmation-code.ts';
import { type Limits, perDay, perHour, perMinute } from './domain/limits.ts';

const days = z.coerce.number().int().min(1).max(3_650);

const count = z.coerce.number().int().min(1).max(1_000_000_000);

const BROWSER_SCHEMES: ReadonlySet<string> = new Set([
  ...['about', 'blob', 'chrome', 'content', 'data', 'file', 'filesystem', 'ftp', 'http', 'https', 'intent'],
  ...['javascript', 'mailto', 'resource', 'sms', 'tel', 'vbscript', 'view-source', 'ws', 'wss'],
]);

const shape = {
  ...serviceShape('identity', 8101),
  WALLET_GRPC_ADDRESS: grpcAddresses.WALLET_GRPC_ADDRESS,
  GYMS_GRPC_ADDRESS: grpcAddresses.GYMS_GRPC_ADDRESS,
  CONTENT_GRPC_ADDRESS: grpcAddresses.CONTENT_GRPC_ADDRESS,
  MEDIA_GRPC_ADDRESS: grpcAddresses.MEDIA_GRPC_ADDRESS,
  STORE_BILLING_GRPC_ADDRESS: grpcAddresses.STORE_BILLING_GRPC_ADDRESS,
  /** Lifetime of session tokens, and default lifetime of personal tokens. */
  TOKEN_LIFETIME_DAYS: days.default(30),
  /** Secret that signs the cookies and the forms of the OAuth pages. */
  OAUTH_SECRET: z.string().min(32, 'must have at least 32 characters'),
  /** Lifetime of OAuth access tokens. */
  OAUTH_ACCESS_TOKEN_MINUTES: z.coerce.number().int().min(1).max(1_440).default(60),
  /** Lifetime of unused OAuth refresh tokens. */
  OAUTH_REFRESH_TOKEN_DAYS: z.coerce.number().int().min(1).max(365).default(30),
  /** URI schemes of apps that are not reversed domain names; each one is reviewed (ADR 11). */
  OAUTH_REDIRECT_SCHEMES: z
    .string()
    .regex(/^[a-z][a-z\d-]*(?:,[a-z][a-z\d-]*)*$/, 'must be URI schemes such as cursor,vscode')
    .refine(
      (list) => !list.split(',').some((scheme) => BROWSER_SCHEMES.has(scheme)),
      'must not contain a scheme that browsers handle themselves',
    )
    .default('cursor,vscode,vscode-insiders,windsurf'),
  /** Time from the confirmation of a deletion to the erasure; fractions are for demonstrations. */
  DELETION_GRACE_DAYS: z.coerce.number().positive().max(3_650).default(14),
  /** How often each replica purges accounts whose grace period has ended. */
  PURGE_INTERVAL_MS: z.coerce.number().int().min(50).max(86_400_000).default(30_000),
  ...journalShape,
  /** Deadline for evaluating one deletion blocker. */
  BLOCKER_DEADLINE_MS: milliseconds.default(3_000),
  /** How long a request waits for the outcome of an SMS; an SMS that is not sent by then is dropped. */
  SMS_DEADLINE_MS: milliseconds.default(6_000),
  /** `SMS_PROVIDER` sends all SMS. */
  ...smsVariables,
  FCM_BASE_URL: providerUrl('https://fcm.googleapis.com'),
  FCM_TOKEN_URL: providerUrl('https://oauth2.googleapis.com/token'),
  /** The Firebase project and the service account that may send its messages. */
  FCM_PROJECT_ID: z.string().min(1).optional(),
  FCM_CLIENT_EMAIL: z.string().min(1).optional(),
  /** Secret, in PEM. Without it no push messages are sent. A line break may be written as `\\n`. */
  FCM_PRIVATE_KEY: z
    .string()
    .min(1)
    .transform((pem) => pem.replaceAll('\\n', '\n'))
    .optional(),
  FCM_TIMEOUT_MS: milliseconds.default(4_000),
  /** Secret, because it contains a password. Without it no emails are sent. */
  SMTP_URL: smtpUrl,
  /** The From header of emails; needed with SMTP_URL. */
  SMTP_FROM: z
    .string()
    .regex(/^[^\r\n]*[^\s@<]+@[^\s@>]+>?$/, 'must be an email address')
    .optional(),
  SMTP_TIMEOUT_MS: milliseconds.default(5_000),
  /** Countries whose phone numbers accounts may have, as ISO 3166 codes separated by commas. */
  SMS_COUNTRIES: z
    .string()
    .regex(/^[A-Z]{2}(?:,[A-Z]{2})*$/, 'must be country codes such as IR,AE')
    .default('IR'),
  /** Daily limits for SMS that anonymous callers ask for: to one phone, and in total. */
  SMS_ANONYMOUS_PER_PHONE: count.default(6),
  SMS_ANONYMOUS_DAILY_LIMIT: count.default(10_000),
  /** Daily limit for SMS to one phone that signed-in callers ask for; see {@link SIGNED_IN_SMS_PER_PHONE}. */
  SMS_SIGNED_IN_PER_PHONE: count.optional(),
  /** Daily limit for emails that can be switched off; each account and each address has its own count. */
  EMAILS_PER_DAY: count.default(30),
  /** The same limit for emails that cannot be switched off. */
  SECURITY_EMAILS_PER_DAY: count.default(20),
  /** Daily limit for emails that notify an account's previous addresses of a new one. */
  EMAIL_CHANGE_EMAILS_PER_DAY: count.default(3),
  /** Whether a new phone or password and a scheduled deletion also trigger an SMS; by default in production only. */
  SECURITY_SMS: flag.optional(),
  /** Calls per minute to account deletion and password reset together. */
  CODE_CALLS_PER_ACCOUNT: count.default(5),
  /** How many anonymous calls per minute are included in that count. */
  CODE_CALLS_ANONYMOUS: z.coerce.number().int().min(0).max(100).default(2),
  /** Anonymous calls to password reset per minute. */
  RESETS_PER_ACCOUNT_AND_ADDRESS: count.default(5),
  RESETS_PER_ACCOUNT: count.default(20),
  RESETS_PER_ADDRESS: count.default(30),
  /** Wrong attempts that a reset code survives: from one network, and from all networks together. */
  RESET_CODE_TRIES: z.coerce.number().int().min(1).max(20).default(MAX_FAILED_ATTEMPTS),
  RESET_CODE_TRIES_IN_ALL: z.coerce.number().int().min(1).max(100).default(MAX_FAILED_ATTEMPTS_IN_ALL),
  /** Sign-ins per minute. */
  LOGINS_PER_ACCOUNT_AND_ADDRESS: count.default(10),
  /** Limit over all accounts. It is high because a mobile carrier puts thousands of phones behind one address. */
  FAILED_LOGINS_PER_ADDRESS: count.default(300),
  /** Checks of `current_password` per minute, except by account deletion. */
  PASSWORD_CHECKS_PER_ACCOUNT: count.default(10),
  /** Wrong second-factor codes per day that are checked after a correct password. */
  WRONG_SECOND_FACTOR_CODES_PER_ACCOUNT: count.default(30),
  /** Secret that encrypts those of second factors. With another key only recovery codes can be verified. */
  SECOND_FACTOR_KEY: z.string().min(32, 'must have at least 32 characters'),
  /** While the key is replaced: secrets that it encrypted can be read, and are encrypted again. */
  PREVIOUS_SECOND_FACTOR_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  /** Whether roles with an operator's permission need a second factor; by default in production only. */
  STAFF_SECOND_FACTOR: z.enum(['required', 'optional']).optional(),
  /** Registrations per hour. Changes of usernames, emails and phones have a separate count with the same limit. */
  REGISTRATIONS_PER_ADDRESS: count.default(100),
  CLIENT_REGISTRATIONS_PER_ADDRESS: count.default(100),
  AUTHORIZATIONS_PER_ADDRESS: count.default(600),
  /** Length of the queue of password checks, as the time that it takes to finish them. */
  PASSWORD_QUEUE_MS: z.coerce.number().int().min(1).max(600_000).default(2_000),
  /** Account that is created at start when no administrator exists. Set all four variables or none. */
  FIRST_ADMINISTRATOR_USERNAME: newUsernameField.optional(),
  FIRST_ADMINISTRATOR_EMAIL: emailField.optional(),
  FIRST_ADMINISTRATOR_PHONE: phoneField.optional(),
  FIRST_ADMINISTRATOR_PASSWORD: passwordField.optional(),
};

const schema = z.object(shape).superRefine(requireSmsProvider);

export type IdentityConfig = z.output<typeof schema>;

/** Throws a ConfigError that names each invalid variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): IdentityConfig => {
  const config = parseConfig(schema, env);
  assertChannels(config);
  const values = ['USERNAME', 'EMAIL', 'PHONE', 'PASSWORD'] as const;
  const missing = values.filter((value) => config[`FIRST_ADMINISTRATOR_${value}`] === undefined);
  if (missing.length === 0 || missing.length === values.length) return config;
  const names = missing.map((value) => `FIRST_ADMINISTRATOR_${value}`).join(', ');
  throw new ConfigError(`Wrong configuration: ${names}: needed with the other FIRST_ADMINISTRATOR_*`);
};

const assertChannels = (config: IdentityConfig): void => {
  const missing = (['FCM_PROJECT_ID', 'FCM_CLIENT_EMAIL'] as const).filter(
    (name) => config[name] === undefined,
  );
  if (config.FCM_PRIVATE_KEY !== undefined && missing.length > 0) {
    throw new ConfigError(`Wrong configuration: ${missing.join(', ')}: needed with FCM_PRIVATE_KEY`);
  }
  if (config.SMTP_URL !== undefined && config.SMTP_FROM === undefined) {
    throw new ConfigError('Wrong configuration: SMTP_FROM: needed with SMTP_URL');
  }
};

/** Undefined when push messages are not configured. */
export const fcmOf = (config: IdentityConfig): FcmOptions | undefined => {
  const { FCM_PROJECT_ID: projectId, FCM_CLIENT_EMAIL: clientEmail, FCM_PRIVATE_KEY: privateKey } = config;
  if (projectId === undefined || clientEmail === undefined || privateKey === undefined) return undefined;
  return {
    baseUrl: config.FCM_BASE_URL,
    tokenUrl: config.FCM_TOKEN_URL,
    projectId,
    clientEmail,
    privateKey,
    timeoutMs: config.FCM_TIMEOUT_MS,
  };
};

/** Undefined when emails are not configured. */
export const smtpOf = (config: IdentityConfig): SmtpOptions | undefined => {
  const { SMTP_URL: url, SMTP_FROM: from } = config;
  if (url === undefined || from === undefined) return undefined;
  return { url, from, timeoutMs: config.SMTP_TIMEOUT_MS, requireTls: config.NODE_ENV === 'production' };
};

/** Defaults when no value is configured. */
export const SIGNED_IN_SMS_PER_PHONE = { usual: 20, demo: 200 };

export const limitsOf = (config: IdentityConfig): Limits => ({
  accountCodes: perMinute('account-codes', config.CODE_CALLS_PER_ACCOUNT),
  countedAnonymousCodes: config.CODE_CALLS_ANONYMOUS,
  resetsPerAccountAndAddress: perMinute('resets-account-address', config.RESETS_PER_ACCOUNT_AND_ADDRESS),
  resetsPerAccount: perMinute('resets-account', config.RESETS_PER_ACCOUNT),
  resetsPerAddress: perMinute('resets-address', config.RESETS_PER_ADDRESS),
  anonymousSmsPerPhone: perDay('anonymous-sms-phone', config.SMS_ANONYMOUS_PER_PHONE),
  anonymousSms: perDay('anonymous-sms', config.SMS_ANONYMOUS_DAILY_LIMIT),
  signedInSmsPerPhone: perDay(
    'signed-in-sms-phone',
    config.SMS_SIGNED_IN_PER_PHONE ?? SIGNED_IN_SMS_PER_PHONE[config.SEED_DEMO ? 'demo' : 'usual'],
  ),
  emailsPerAccount: perDay('emails-account', config.EMAILS_PER_DAY),
  emailsPerRecipient: perDay('emails-recipient', config.EMAILS_PER_DAY),
  securityEmailsPerAccount: perDay('security-emails-account', config.SECURITY_EMAILS_PER_DAY),
  securityEmailsPerRecipient: perDay('security-emails-recipient', config.SECURITY_EMAILS_PER_DAY),
  emailChangeEmails: perDay('email-change-emails', config.EMAIL_CHANGE_EMAILS_PER_DAY),
  logins: perMinute('login', config.LOGINS_PER_ACCOUNT_AND_ADDRESS),
  failedLogins: perMinute('failed-login', config.FAILED_LOGINS_PER_ADDRESS),
  passwordChecks: perMinute('password-check', config.PASSWORD_CHECKS_PER_ACCOUNT),
  wrongSecondFactorCodes: perDay('wrong-second-factor', config.WRONG_SECOND_FACTOR_CODES_PER_ACCOUNT),
  registrations: config.SEED_DEMO ? undefined : perHour('registration', config.REGISTRATIONS_PER_ADDRESS),
  nameChanges: config.SEED_DEMO ? undefined : perHour('name-change', config.REGISTRATIONS_PER_ADDRESS),
  clientRegistrations: config.SEED_DEMO
    ? undefined
    : perHour('client-registration', config.CLIENT_REGISTRATIONS_PER_ADDRESS),
  authorizations: config.SEED_DEMO
    ? undefined
    : perMinute('authorization', config.AUTHORIZATIONS_PER_ADDRESS),
});

export type SecuritySms = 'all' | 'phone_changed' | 'none';

/** All by default in production; elsewhere only the SMS to a replaced phone, which is notified in no other way. */
export const securitySmsOf = ({ SECURITY_SMS: isOn, NODE_ENV: mode }: IdentityConfig): SecuritySms => {
  if (isOn !== undefined) return isOn ? 'all' : 'none';
  return mode === 'production' ? 'all' : 'phone_changed';
};

export const staffNeedsSecondFactor = ({
  STAFF_SECOND_FACTOR: setting,
  NODE_ENV: mode,
}: IdentityConfig): boolean => (setting === undefined ? mode === 'production' : setting === 'required');

/** Undefined when no administrator is configured. */
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
