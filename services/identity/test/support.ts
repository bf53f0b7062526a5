/** An identity service on real servers, with stand-ins for the services that it calls, and registered users. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { systemClock, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { isPermission } from '@fitness/shared/kernel/permissions.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import {
  type Answer,
  apiClient,
  dropDatabase,
  dropQueues,
  provisionQueuesOf,
  type Send,
  standIn,
  standInService,
  testClient,
  testConfig,
} from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { newMember } from '../src/app/accounts/register.ts';
import { createPresentUser } from '../src/app/accounts/user-resource.ts';
import { createNewSessionToken } from '../src/app/sign-in/new-session-token.ts';
import type { CredentialEpochs } from '../src/clients/credential-epochs.ts';
import { createKeyedHash } from '../src/clients/keyed-hash.ts';
import { createPasswords, type PasswordCost } from '../src/clients/passwords.ts';
import { type IdentityConfig, readConfig } from '../src/config.ts';
import { REFERRAL_CODE_BYTES, toReferralCode } from '../src/domain/referral-code.ts';
import { hashToken } from '../src/domain/token.ts';
import { toSession } from '../src/http/session.ts';
import { type IdentityOverrides, startIdentity } from '../src/service.ts';
import { createRevocations } from '../src/store/revocations.ts';
import { createStore } from '../src/store/store.ts';

type IdentityDefinition = ReturnType<typeof grpcDefinitions.identity>;

/** The state of the stand-ins: their responses, and the calls that they received. Tests change it. */
interface StandIns {
  /** The files that media stores. */
  media: { id: number; userId: number; filename: string }[];
  /** Version of every copy that media returns. */
  mediaVersion: number;
  deletedLicensesOf: number[];
  /** The calls of media's `DeleteByPurpose`, in order. */
  licenseDeletions: { userId: number; upTo: number | undefined }[];
  /** Runs while media deletes a license document. */
  whileDeleting: (() => Promise<void>) | undefined;
  subscriptions: { id: number; userId: number }[];
  /** Runs while store-billing reads subscriptions; throws to make it fail. */
  whileReadingSubscriptions: (() => Promise<void>) | undefined;
  /** The blockers that apply, with their users. */
  blockers: { userId: number; code: string; extras: Record<string, unknown> }[];
  /** Runs while a blocker is evaluated. */
  whileEvaluating: (() => Promise<void>) | undefined;
  /** Evaluating this blocker fails. */
  brokenBlocker: string | undefined;
  calls: { media: number; subscriptions: number; blockers: number };
}

export interface Harness {
  config: IdentityConfig;
  clock: ManualClock;
  send: Send;
  identity: GrpcClient<IdentityDefinition>;
  /** Calls identity as media does before it responds to an upload or a deletion. */
  saveMedia(copy: ReturnType<typeof mediaCopy>): Promise<void>;
  standIns: StandIns;
  /** The service's own database. */
  database: Connection;
  url: string;
  grpcAddress: string;
  close(): Promise<void>;
}

/** The copy of a user's public files. */
export const mediaCopy = (
  userId: number,
  files: readonly { id: number; filename: string }[],
  version: number,
) => ({
  target: { attachable_type: 'App\\Models\\User', attachable_id: userId },
  version,
  files: files.map(({ id, filename }) => ({
    ...{ id, filename },
    ...{ mime_type: 'image/png', size: 10, created_at: '2026-01-01 00:00:00' },
  })),
});

/** The times of every subscription of the stand-in. */
export const SUBSCRIBED = { starts_at: '2026-01-01 00:00:00', expires_at: '2099-01-01 00:00:00' } as const;

const startStandIns = (standIns: StandIns) =>
  standIn(
    standInService(grpcDefinitions.media(), {
      GetCopies: async ({ targets }) => {
        standIns.calls.media += 1;
        const copies = targets.map(({ attachable_id: id }) => {
          const files = standIns.media.filter((row) => row.userId === id);
          return mediaCopy(id, files, standIns.mediaVersion);
        });
        return { copies };
      },
      DeleteByPurpose: async ({ target, purpose, up_to_media_id: upTo }) => {
        if (purpose !== 'trainer_license') return { deleted: false };
        const userId = target?.attachable_id ?? 0;
        standIns.deletedLicensesOf.push(userId);
        standIns.licenseDeletions.push({ userId, upTo });
        await standIns.whileDeleting?.();
        return { deleted: true };
      },
    }),
    standInService(grpcDefinitions.blockers(), {
      Evaluate: async ({ user_id, code }) => {
        standIns.calls.blockers += 1;
        await standIns.whileEvaluating?.();
        if (code === standIns.brokenBlocker) throw new Error('out of order');
        const match = standIns.blockers.find((row) => row.userId === user_id && row.code === code);
        return { applies: match !== undefined, extras_json: JSON.stringify(match?.extras ?? {}) };
      },
    }),
    standInService(grpcDefinitions.auditLog(), {
      List: async () => ({ entries: [], has_more: false }),
      Count: async () => ({ total: 0 }),
    }),
    standInService(grpcDefinitions.storeBilling(), {
      GetSubscriptions: async ({ user_ids }) => {
        standIns.calls.subscriptions += 1;
        await standIns.whileReadingSubscriptions?.();
        const running = standIns.subscriptions.filter((row) => user_ids.includes(row.userId));
        return {
          subscriptions: running.map(({ id, userId }) => ({
            id,
            user_id: userId,
            type: 'plus',
            ...SUBSCRIBED,
            created_at: SUBSCRIBED.starts_at,
          })),
        };
      },
    }),
  );

/** `env` overrides the environment that the configuration is read from. */
export const identityConfig = (env: Record<string, string> = {}): IdentityConfig => {
  const base = Object.entries(testConfig('identity')).map(([name, value]) => [name, String(value)]);
  const defaults = {
    KAVENEGAR_API_KEY: 'test-key',
    OAUTH_SECRET: 'a secret for tests, thirty-two characters or more',
    SECOND_FACTOR_KEY: 'another secret for tests, thirty-two characters or more',
    // The scheduled purge never runs during a test.
    PURGE_INTERVAL_MS: '86400000',
    // Longer than in production, for busy machines.
    BLOCKER_DEADLINE_MS: '30000',
    PASSWORD_QUEUE_MS: '60000',
    JOURNAL_DIRECTORY: `${tmpdir()}/journal-${randomUUID()}`,
  };
  return readConfig({ ...Object.fromEntries(base), ...defaults, ...env });
};

/** Cheap, because tests hash many passwords. */
export const PASSWORD_COST: PasswordCost = { memoryCost: 256, timeCost: 1, parallelism: 1 };

export const startHarness = async (
  env: Record<string, string> = {},
  overrides: IdentityOverrides = {},
): Promise<Harness> => {
  const standIns: StandIns = {
    media: [],
    mediaVersion: 1,
    deletedLicensesOf: [],
    licenseDeletions: [],
    whileDeleting: undefined,
    whileEvaluating: undefined,
    subscriptions: [],
    whileReadingSubscriptions: undefined,
    blockers: [],
    brokenBlocker: undefined,
    calls: { media: 0, subscriptions: 0, blockers: 0 },
  };
  const others = await startStandIns(standIns);
  const config = identityConfig({
    MEDIA_GRPC_ADDRESS: others.address,
    GYMS_GRPC_ADDRESS: others.address,
    WALLET_GRPC_ADDRESS: others.address,
    CONTENT_GRPC_ADDRESS: others.address,
    STORE_BILLING_GRPC_ADDRESS: others.address,
    AMQP_TOPOLOGY: 'provisioned',
    ...env,
  });
  const { retryDelaysMs } = overrides;
  await provisionQueuesOf(config, 'identity', { commands: ['sms.send'], retryDelaysMs });
  // Starts at the real time, because the database's TTL indexes use it.
  const clock = new ManualClock(systemClock.now());
  const service = await startIdentity(config, { clock, passwordCost: PASSWORD_COST, ...overrides });
  const database = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  const identity = testClient('identity', grpcDefinitions.identity(), service.grpcAddress, {
    deadlineMs: 30_000,
  });
  const copies = testClient('identity', grpcDefinitions.mediaCopies(), service.grpcAddress);
  return {
    config,
    clock,
    send: apiClient('identity', service.url),
    identity,
    saveMedia: async (copy) => {
      await copies.call('Save', copy);
    },
    standIns,
    database,
    url: service.url,
    grpcAddress: service.grpcAddress,
    close: async () => {
      identity.close();
      copies.close();
      await service.close();
      await database.close();
      await others.close();
      await dropDatabase(config);
      await dropQueues(config, 'identity', ['sms.send']);
      await rm(config.JOURNAL_DIRECTORY, { recursive: true, force: true });
    },
  };
};

/** For stores that tests open beside the service. No gateway reads what they revoke. */
export const noEpochs: CredentialEpochs = { close: async () => undefined, advance: async () => undefined };
export const revocations = createRevocations(noEpochs);

export const PASSWORD = 'correct horse battery';
const hashOfPassword = createPasswords(60_000, PASSWORD_COST).then(({ hash }) => hash(PASSWORD, ''));

let people = 0;

/** A valid registration. Its values are unique in the database of the harness. */
export const registration = (fields: Record<string, unknown> = {}): Record<string, unknown> => {
  people += 1;
  return {
    username: `person.${people}`,
    email: `person.${people}@example.org`,
    phone: `+98912${String(1_000_000 + people)}`,
    password: PASSWORD,
    first_name: 'Nima',
    last_name: 'Yushij',
    ...fields,
  };
};

export interface Person {
  id: number;
  token: string;
  caller: UserCaller;
  // biome-ignore lint/suspicious/noExplicitAny: the resource in the response, under test
  user: any;
}

/** The caller of `token`, as the gateway determines it. Rejects when the token is not valid. */
export const callerOf = async (harness: Harness, token: string): Promise<UserCaller> => {
  const answer = await harness.identity.call('Introspect', { token });
  return {
    kind: 'user',
    userId: answer.user_id,
    permissions: new Set(answer.permissions.filter(isPermission)),
    ...(answer.withheld.length === 0 ? {} : { withheld: new Set(answer.withheld.filter(isPermission)) }),
    ...(answer.grantable.length === 0 ? {} : { grantable: new Set(answer.grantable.filter(isPermission)) }),
    tokenId: answer.token_id,
    tokenKind: answer.token_kind as UserCaller['tokenKind'],
    ...(answer.page === '' ? {} : { page: answer.page as NonNullable<UserCaller['page']> }),
  };
};

export const isLive = (harness: Harness, token: string): Promise<boolean> =>
  harness.identity.call('Introspect', { token }).then(
    () => true,
    (error: { kind?: unknown }) => {
      if (error.kind === 'unauthenticated') return false;
      throw error;
    },
  );

/** The caller has the permissions of the roles in the response, as the gateway determines them. */
const toPerson = ({ token, user }: Answer['body']): Person => ({
  id: user.id,
  token,
  caller: {
    kind: 'user',
    userId: user.id,
    permissions: new Set(
      user.roles.flatMap(({ permissions }: { permissions: string[] }) => permissions.filter(isPermission)),
    ),
    tokenId: hashToken(token),
    tokenKind: 'session',
  },
  user,
});

let addresses = 0;

/** An address that no other call uses, so that tests do not share a rate limit. */
export const newAddress = (): { 'x-client-address': string } => {
  addresses += 1;
  return { 'x-client-address': `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}` };
};

const register = async (
  harness: Harness,
  fields: Record<string, unknown>,
  headers: ReturnType<typeof newAddress>,
): Promise<Person> => {
  const answer = await harness.send('POST', '/auth/register', { body: registration(fields), headers });
  if (answer.status !== 201) throw new Error(`registration: ${answer.status} ${answer.text}`);
  return toPerson(answer.body);
};

/** Stores what a registration stores and responds with. */
const openMembers = ({ config, clock, database }: Harness) => {
  const store = createStore(database, createLog({ service: 'test', level: 'silent' }), noEpochs);
  const sequences = createSequences(database);
  const { TOKEN_LIFETIME_DAYS: tokenLifetimeDays, PUBLIC_BASE_URL: baseUrl } = config;
  const networkHash = createKeyedHash(config.SECOND_FACTOR_KEY, 'network');
  const newSessionToken = createNewSessionToken({
    ...{ sequences, random: systemRandom, clock, tokenLifetimeDays },
  });
  const presentUser = createPresentUser({
    ...{ store, baseUrl, clock, subscriptions: { find: async () => new Map(), show: async () => null } },
    referralsReader: { read: async () => new Map() },
  });
  return async ({ 'x-client-address': address }: ReturnType<typeof newAddress>): Promise<Person> => {
    const id = await sequences.next('users');
    const { token, row } = await newSessionToken(id, { address, userAgent: undefined });
    const account = newMember({
      id,
      person: registration() as unknown as Parameters<typeof newMember>[0]['person'],
      passwordHash: await hashOfPassword,
      referralCode: toReferralCode(systemRandom.bytes(REFERRAL_CODE_BYTES)),
      referrerId: null,
      createdAt: clock.now(),
    });
    const user = await store.transaction(async (session) => {
      const inserted = await store.users.insert(session, account, networkHash(id, address));
      await store.tokens.insert(session, row, inserted.credential_epoch);
      return inserted;
    });
    return toPerson(await toSession({ token, expiresAt: row.expires_at, user }, presentUser));
  };
};
const members = new WeakMap<Harness, ReturnType<typeof openMembers>>();

/** A new user. One with special fields is registered by a request; others are only stored, which costs less. */
export const join = async (
  harness: Harness,
  fields: Record<string, unknown> = {},
  headers = newAddress(),
): Promise<Person> => {
  if (Object.keys(fields).length > 0) return register(harness, fields, headers);
  const add = members.get(harness) ?? openMembers(harness);
  members.set(harness, add);
  return add(headers);
};

export const logIn = (harness: Harness, login: string, password: string = PASSWORD): Promise<Answer> =>
  harness.send('POST', '/auth/login', { body: { login, password }, headers: newAddress() });

/** Sets the roles in the database, without a user who may assign them. */
export const giveRoles = async (harness: Harness, userId: number, roleIds: number[]): Promise<void> => {
  await harness.database
    .collection('users')
    .updateOne({ _id: userId as never }, { $set: { role_ids: roleIds } });
};

/** Registers a new user with this role. */
export const joinAs = async (
  harness: Harness,
  role: 'member' | 'operator' | 'administrator',
  fields: Record<string, unknown> = {},
): Promise<Person> => {
  const person = await join(harness, fields);
  await giveRoles(harness, person.id, [{ member: 1, operator: 2, administrator: 3 }[role]]);
  return { ...person, caller: await callerOf(harness, person.token) };
};
