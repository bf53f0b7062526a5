/** What the use cases of identity are made of: its stores, its clients, and the foundation's ground. */
import type { BlockerOwner } from '@fitness/shared/blocker-catalogue.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { createReadMedia } from '@fitness/shared/resources/media.ts';
import { createReadSubscriptions } from '@fitness/shared/resources/subscription.ts';
import type { Foundation } from '@fitness/shared/service.ts';
import type { Transact } from './app/transact.ts';
import { createBlockers } from './clients/blockers.ts';
import { createKavenegar } from './clients/kavenegar.ts';
import { createLicenceDocuments } from './clients/licence-documents.ts';
import type { Passwords } from './clients/password-hasher.ts';
import { createScoreTurns } from './clients/score-turns.ts';
import { createSmsSender, serveSms } from './clients/sms.ts';
import type { IdentityConfig } from './config.ts';
import { createCodeStore } from './store/codes.ts';
import { createNotificationStore } from './store/notifications.ts';
import { createOauthStore } from './store/oauth.ts';
import { createReferralScoreStore } from './store/referral-scores.ts';
import { createRoleStore } from './store/roles.ts';
import { createTokenStore } from './store/tokens.ts';
import { createUserStore } from './store/users.ts';

type Connection = Foundation['connection'];

const createStores = (connection: Connection) => ({
  users: createUserStore(connection),
  tokens: createTokenStore(connection),
  oauth: createOauthStore(connection),
  roles: createRoleStore(connection),
  scores: createReferralScoreStore(connection),
  codes: createCodeStore(connection),
  notifications: createNotificationStore(connection),
});

const blockerAddresses = (config: IdentityConfig): Record<BlockerOwner, string> => ({
  gyms: config.GYMS_GRPC_ADDRESS,
  wallet: config.WALLET_GRPC_ADDRESS,
  'store-billing': config.STORE_BILLING_GRPC_ADDRESS,
  content: config.CONTENT_GRPC_ADDRESS,
});

const createClients = ({ grpcClient, log }: Foundation, config: IdentityConfig) => {
  const media = grpcClient('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS);
  const storeBilling = grpcClient(
    'store-billing',
    grpcDefinitions.storeBilling(),
    config.STORE_BILLING_GRPC_ADDRESS,
  );
  return {
    licences: createLicenceDocuments(media),
    readMedia: createReadMedia(media, log),
    readSubscriptions: createReadSubscriptions(storeBilling, log),
    blockers: createBlockers({
      connect: (owner, code) =>
        grpcClient(`${owner} ${code}`, grpcDefinitions.blockers(), blockerAddresses(config)[owner]),
      deadlineMs: config.BLOCKER_DEADLINE_MS,
      log,
    }),
  };
};

/** Both ends of the SMS command: this process asks, and any replica's worker sends. */
const openSms = async ({ broker, cleanup, log }: Foundation, config: IdentityConfig) => {
  const kavenegar = createKavenegar({
    baseUrl: config.KAVENEGAR_BASE_URL,
    apiKey: config.KAVENEGAR_API_KEY,
    templates: { deletion: config.KAVENEGAR_DELETION_TEMPLATE, reset: config.KAVENEGAR_RESET_TEMPLATE },
    timeoutMs: config.KAVENEGAR_TIMEOUT_MS,
  });
  const worker = await serveSms(broker, kavenegar, log);
  cleanup.defer('sms worker', () => worker.close());
  const sender = await createSmsSender(broker, log, config.SMS_DEADLINE_MS);
  cleanup.defer('sms sender', () => sender.close());
  return sender;
};

export const createParts = async (foundation: Foundation, config: IdentityConfig, passwords: Passwords) => {
  const { connection, clock, random, log, outbox, sequences, limiter, idempotency } = foundation;
  const turns = createScoreTurns(foundation.redis, { keyPrefix: config.EVENTS_NAMESPACE, random, log });
  const transact: Transact = (work) => inTransaction(connection, work, { log });
  const sms = await openSms(foundation, config);
  const ground = {
    clock,
    random,
    log,
    outbox,
    sequences,
    limiter,
    idempotency,
    transact,
    passwords,
    sms,
    turns,
  };
  return { ...createStores(connection), ...createClients(foundation, config), ...ground };
};

export type Parts = Awaited<ReturnType<typeof createParts>>;
