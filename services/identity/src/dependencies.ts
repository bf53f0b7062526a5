/** The stores, clients and platform services of the use cases. Each use case takes the part that it needs. */
import type { BlockerOwner } from '@fitness/contracts/blockers.ts';
import { createMediaCopyReader, type MediaCopyReader } from '@fitness/contracts/media-copy.ts';
import { createSubscriptionReader, type SubscriptionReader } from '@fitness/contracts/subscription.ts';
import type { AuditLog } from '@fitness/shared/audit/log.ts';
import { AUDITED_SERVICES } from '@fitness/shared/audit/models.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { Clock, Random } from '@fitness/shared/kernel/clock.ts';
import type { Journal } from '@fitness/shared/kernel/journal.ts';
import { createKeyedQueue, type KeyedQueue } from '@fitness/shared/kernel/keyed-queue.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { CounterMetric } from '@fitness/shared/kernel/metrics.ts';
import type { RateLimiter } from '@fitness/shared/kernel/rate-limit.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { type BackgroundTasks, createBackgroundTasks } from '@fitness/shared/runtime/background-tasks.ts';
import { openServiceJournal } from '@fitness/shared/runtime/service-journal.ts';
import type { ServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { type AuditSource, ownAuditSource, remoteAuditSource } from './clients/audit-logs.ts';
import { type Blockers, createBlockers } from './clients/blockers.ts';
import { createCredentialEpochs, type EpochStore } from './clients/credential-epochs.ts';
import { createFcm, type PushSender } from './clients/fcm.ts';
import { createKeyedHash, type KeyedHash } from './clients/keyed-hash.ts';
import { createLicenseDocuments, type LicenseDocuments } from './clients/license-documents.ts';
import { createMail, type MailSender } from './clients/mail.ts';
import { createPasswords, type PasswordCost, type Passwords } from './clients/passwords.ts';
import { createScoreLocks, type ScoreLocks } from './clients/score-locks.ts';
import { createSecretBox, type SecretBox } from './clients/secret-box.ts';
import { createSmsSender, type SmsSender, serveSms } from './clients/sms.ts';
import { createSmsProvider } from './clients/sms-providers/index.ts';
import type { SmsProvider } from './clients/sms-providers/provider.ts';
import {
  fcmOf,
  type IdentityConfig,
  limitsOf,
  type SecuritySms,
  securitySmsOf,
  smtpOf,
  staffNeedsSecondFactor,
} from './config.ts';
import { type Erasure, erasureSchema } from './domain/erasure.ts';
import type { Limits } from './domain/limits.ts';
import { createNewNotifications, type NewNotifications } from './store/notifications.ts';
import { createStore, type Store } from './store/store.ts';

export interface Dependencies {
  store: Store;
  epochStore: EpochStore;
  licenseDocuments: LicenseDocuments;
  mediaCopies: MediaCopyReader;
  subscriptions: SubscriptionReader;
  blockers: Blockers;
  sms: SmsSender;
  /** Sends an SMS that contains no code. Unlike a code, it is not sent by a command with a deadline. */
  textSms: Pick<SmsProvider, 'sendText'>;
  /** Whether security notices are also sent by SMS. */
  securitySms: SecuritySms;
  /** Undefined when push messages or emails are not configured. */
  pushes: PushSender | undefined;
  mails: MailSender | undefined;
  /** Attempts to send a notification, by outcome: sent, skipped (no longer wanted), gone, limited, refused, failed. */
  sentNotifications: CounterMetric<'channel' | 'outcome'>;
  passwords: Passwords;
  /** Encrypts the secrets of second factors. */
  secretBox: SecretBox;
  /** Opens what the other key has encrypted, while the key is replaced. */
  previousSecretBox: SecretBox | undefined;
  /** Hashes a client's network; the owner is an account. */
  networkHash: KeyedHash;
  /** Whether roles with an operator's permission are withheld without a second factor. */
  staffNeedsSecondFactor: boolean;
  /** Records all erasures. A restore of the database does not affect it. */
  erasureJournal: Journal<Erasure>;
  scoreLocks: ScoreLocks;
  /**
   * Runs role assignments one after the other in this process. Those that remove role management write to the same
   * remaining account: the database would restart the losing transactions until some exceed their timeout.
   */
  roleQueue: KeyedQueue;
  backgroundTasks: BackgroundTasks;
  outbox: Outbox;
  audit: AuditLog;
  /** The audit logs of all services. */
  auditSources: readonly AuditSource[];
  sequences: Sequences;
  limiter: RateLimiter;
  limits: Limits;
  logins: CounterMetric<'outcome'>;
  /** SMS that anonymous callers asked for, by the state of their daily limit: ok, alert (from 80 %), spent (not sent). */
  anonymousSmsCounter: CounterMetric<'budget'>;
  /** ISO 3166 codes of the countries to which SMS are sent. */
  smsCountries: ReadonlySet<string>;
  idempotency: Idempotency;
  clock: Clock;
  /** Nothing advances it: the time of authenticator apps, of Google, and of transactions that may be open. */
  realTime: Clock;
  random: Random;
  log: Logger;
  /** Lifetime of session tokens, and default lifetime of personal tokens. */
  tokenLifetimeDays: number;
  /** Days from the confirmation of a deletion to the erasure. */
  graceDays: number;
  /** The public origin. */
  baseUrl: string;
}

/** Includes what `createUseCases` passes to one use case only. */
export interface AllDependencies extends Dependencies {
  newNotifications: NewNotifications;
}

export interface DependencyOverrides {
  /** Cost of hashing a password; by default the cost of production. */
  passwordCost?: PasswordCost | undefined;
  /** How long a revocation waits for Redis, in milliseconds. */
  revocationWaitMs?: number | undefined;
}

export const createDependencies = async (
  runtime: ServiceRuntime,
  config: IdentityConfig,
  { passwordCost, revocationWaitMs }: DependencyOverrides = {},
): Promise<AllDependencies> => {
  const {
    connection,
    clock,
    realTime,
    random,
    log,
    metrics,
    outbox,
    audit,
    sequences,
    limiter,
    idempotency,
  } = runtime;
  const epochs = createCredentialEpochs({
    redis: runtime.redis,
    namespace: config.EVENTS_NAMESPACE,
    random,
    log,
    waitMs: revocationWaitMs,
  });
  const smsProvider = createSmsProvider(config, metrics);
  const sms = await createSms(runtime, config, smsProvider);
  // Deferred after the SMS sender, so that the tasks, which need it, are closed first.
  const backgroundTasks = createBackgroundTasks(log);
  runtime.cleanup.defer('background tasks', () => backgroundTasks.idle());
  return {
    store: createStore(connection, log, epochs, {
      perNetwork: config.RESET_CODE_TRIES,
      inAll: config.RESET_CODE_TRIES_IN_ALL,
    }),
    epochStore: epochs,
    newNotifications: createNewNotifications(connection),
    ...createGrpcClients(runtime, config),
    sms,
    textSms: smsProvider,
    securitySms: securitySmsOf(config),
    ...createChannels(runtime, config),
    passwords: await createPasswords(config.PASSWORD_QUEUE_MS, passwordCost),
    secretBox: createSecretBox(config.SECOND_FACTOR_KEY, 'second factor', random),
    previousSecretBox: previousSecretBoxOf(config, random),
    networkHash: createKeyedHash(config.SECOND_FACTOR_KEY, 'network'),
    staffNeedsSecondFactor: staffNeedsSecondFactor(config),
    erasureJournal: await openServiceJournal('erasures', erasureSchema, runtime, config),
    scoreLocks: createScoreLocks(runtime.redis, { keyPrefix: config.EVENTS_NAMESPACE, random, log }),
    roleQueue: createKeyedQueue(),
    backgroundTasks,
    outbox,
    audit,
    auditSources: createAuditSources(runtime, config),
    sequences,
    limiter,
    limits: limitsOf(config),
    ...createCounters(runtime),
    smsCountries: new Set(config.SMS_COUNTRIES.split(',')),
    idempotency,
    clock,
    realTime,
    random,
    log,
    tokenLifetimeDays: config.TOKEN_LIFETIME_DAYS,
    graceDays: config.DELETION_GRACE_DAYS,
    baseUrl: config.PUBLIC_BASE_URL,
  };
};

const previousSecretBoxOf = (
  { PREVIOUS_SECOND_FACTOR_KEY: key }: IdentityConfig,
  random: Random,
): SecretBox | undefined => (key === undefined ? undefined : createSecretBox(key, 'second factor', random));

const blockerAddresses = (config: IdentityConfig): Record<BlockerOwner, string> => ({
  gyms: config.GYMS_GRPC_ADDRESS,
  wallet: config.WALLET_GRPC_ADDRESS,
  'store-billing': config.STORE_BILLING_GRPC_ADDRESS,
  content: config.CONTENT_GRPC_ADDRESS,
});

const createAuditSources = (runtime: ServiceRuntime, config: IdentityConfig): AuditSource[] => {
  const addresses = { ...blockerAddresses(config), media: config.MEDIA_GRPC_ADDRESS };
  return AUDITED_SERVICES.map((service) =>
    service === 'identity'
      ? ownAuditSource(runtime.audit)
      : remoteAuditSource(
          runtime.grpcClient(service, grpcDefinitions.auditLog(), addresses[service], `${service} audit log`),
        ),
  );
};

const createGrpcClients = (runtime: ServiceRuntime, config: IdentityConfig) => {
  const { log } = runtime;
  const media = runtime.grpcClient('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS);
  const storeBilling = runtime.grpcClient(
    'store-billing',
    grpcDefinitions.storeBilling(),
    config.STORE_BILLING_GRPC_ADDRESS,
  );
  return {
    licenseDocuments: createLicenseDocuments({ media, log }),
    mediaCopies: createMediaCopyReader(media),
    subscriptions: createSubscriptionReader(storeBilling, log),
    blockers: createBlockers({
      connect: (owner, code) =>
        runtime.grpcClient(
          owner,
          grpcDefinitions.blockers(),
          blockerAddresses(config)[owner],
          `${owner} ${code}`,
        ),
      deadlineMs: config.BLOCKER_DEADLINE_MS,
      log,
    }),
  };
};

const createCounters = ({
  metrics,
}: ServiceRuntime): Pick<AllDependencies, 'logins' | 'anonymousSmsCounter'> => ({
  logins: metrics.counter({
    name: 'logins_total',
    help: 'Sign-ins by outcome: ok, wrong (login or password), second_factor (missing, wrong or used), limited (429)',
    labels: { outcome: ['ok', 'wrong', 'second_factor', 'limited'] },
  }),
  anonymousSmsCounter: metrics.counter({
    name: 'anonymous_sms_total',
    help: 'SMS asked for anonymously, by the state of their daily limit: ok, alert, spent',
    labels: { budget: ['ok', 'alert', 'spent'] },
  }),
});

const createChannels = ({ realTime, metrics, cleanup }: ServiceRuntime, config: IdentityConfig) => {
  const [fcm, smtp] = [fcmOf(config), smtpOf(config)];
  const pushes = fcm && createFcm(fcm, { realTime, metrics });
  const mails = smtp && createMail(smtp, { metrics });
  cleanup.defer('push messages and emails', async () => {
    pushes?.close();
    mails?.close();
  });
  return {
    pushes,
    mails,
    sentNotifications: metrics.counter({
      name: 'notifications_sent_total',
      help: 'Tries to send a notification: sent, skipped, gone (device), limited (by the budget), refused (for good), failed (tried again)',
      labels: {
        channel: ['push', 'email'],
        outcome: ['sent', 'skipped', 'gone', 'limited', 'refused', 'failed'],
      },
    }),
  };
};

/** The sender publishes a command; the worker of any replica calls the provider and replies. */
const createSms = async (
  { broker, cleanup, log }: ServiceRuntime,
  config: IdentityConfig,
  provider: SmsProvider,
) => {
  const worker = await serveSms(broker, provider, log);
  cleanup.defer('sms worker', () => worker.close());
  const sender = await createSmsSender(broker, log, config.SMS_DEADLINE_MS);
  cleanup.defer('sms sender', () => sender.close());
  return sender;
};
