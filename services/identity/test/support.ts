/** One identity service on the real servers, with stand-ins for those it asks, and people who have signed in. */
import { randomBytes } from 'node:crypto';
import type { UserCaller } from '@fitness/shared/caller.ts';
import { ManualClock, systemClock } from '@fitness/shared/clock.ts';
import { createGrpcClient, type GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { isPermission } from '@fitness/shared/permissions.ts';
import {
  type Answer,
  apiClient,
  dropDatabase,
  dropQueues,
  type Send,
  standIn,
  standInService,
  testConfig,
  testSigner,
} from '@fitness/shared/testing/harness.ts';
import { type IdentityConfig, readConfig } from '../src/config.ts';
import { startIdentity } from '../src/service.ts';
import type { IdentityOverrides } from '../src/use-cases.ts';

type IdentityDefinition = ReturnType<typeof grpcDefinitions.identity>;

/** What the stand-ins answer; a test changes it. */
interface Outside {
  media: { id: number; userId: number; filename: string }[];
  deletedLicencesOf: number[];
  /** What media was asked to delete, in the order of asking. */
  licenceDeletions: { userId: number; upTo: number | undefined }[];
  /** Runs while media deletes a licence. */
  whileDeleting: (() => Promise<void>) | undefined;
  subscriptions: { id: number; userId: number }[];
  /** What stands in the way of whom. */
  blockers: { userId: number; code: string; extras: Record<string, unknown> }[];
  /** Runs while a blocker is evaluated. */
  whileEvaluating: (() => Promise<void>) | undefined;
  /** The blocker that cannot be evaluated. */
  brokenBlocker: string | undefined;
  calls: { media: number; subscriptions: number; blockers: number };
}

export interface World {
  config: IdentityConfig;
  clock: ManualClock;
  send: Send;
  identity: GrpcClient<IdentityDefinition>;
  outside: Outside;
  /** The service's own database. */
  database: Connection;
  url: string;
  grpcAddress: string;
  close(): Promise<void>;
}

const mediaRow = (row: Outside['media'][number]) => ({
  id: row.id,
  attachable_type: 'App\\Models\\User',
  attachable_id: row.userId,
  link: `http://api.test/api/v1/media/${row.id}/${row.filename}`,
  filename: row.filename,
  mime_type: 'image/png',
  size: 10,
  created_at: '2026-01-01 00:00:00',
});

const standIns = (outside: Outside) =>
  standIn(
    standInService(grpcDefinitions.media(), {
      GetMedia: async ({ targets }) => {
        outside.calls.media += 1;
        const asked = targets.map((target) => target.attachable_id);
        return { media: outside.media.filter((row) => asked.includes(row.userId)).map(mediaRow) };
      },
      DeleteByPurpose: async ({ target, purpose, up_to_media_id: upTo }) => {
        if (purpose !== 'trainer_license') return { deleted: false };
        const userId = target?.attachable_id ?? 0;
        outside.deletedLicencesOf.push(userId);
        outside.licenceDeletions.push({ userId, upTo });
        await outside.whileDeleting?.();
        return { deleted: true };
      },
    }),
    standInService(grpcDefinitions.blockers(), {
      Evaluate: async ({ user_id, code }) => {
        outside.calls.blockers += 1;
        await outside.whileEvaluating?.();
        if (code === outside.brokenBlocker) throw new Error('out of order');
        const found = outside.blockers.find((row) => row.userId === user_id && row.code === code);
        return { applies: found !== undefined, extras_json: JSON.stringify(found?.extras ?? {}) };
      },
    }),
    standInService(grpcDefinitions.storeBilling(), {
      GetSubscriptions: async ({ user_ids }) => {
        outside.calls.subscriptions += 1;
        const running = outside.subscriptions.filter((row) => user_ids.includes(row.userId));
        return {
          subscriptions: running.map(({ id, userId }) => ({
            id,
            user_id: userId,
            type: 'plus',
            starts_at: '2026-01-01 00:00:00',
            expires_at: '2026-02-01 00:00:00',
            created_at: '2026-01-01 00:00:00',
          })),
        };
      },
    }),
  );

/** `env` is added to the environment that the service's configuration is read from. */
export const identityConfig = (env: Record<string, string> = {}): IdentityConfig => {
  const base = Object.entries(testConfig('identity')).map(([name, value]) => [name, String(value)]);
  // The purge runs when a test says so.
  const quiet = {
    KAVENEGAR_API_KEY: 'test-key',
    PURGE_INTERVAL_MS: '86400000',
    // A busy machine may need longer than the product waits.
    BLOCKER_DEADLINE_MS: '30000',
  };
  return readConfig({ ...Object.fromEntries(base), ...quiet, ...env });
};

export const startWorld = async (
  env: Record<string, string> = {},
  overrides: IdentityOverrides = {},
): Promise<World> => {
  const outside: Outside = {
    media: [],
    deletedLicencesOf: [],
    licenceDeletions: [],
    whileDeleting: undefined,
    whileEvaluating: undefined,
    subscriptions: [],
    blockers: [],
    brokenBlocker: undefined,
    calls: { media: 0, subscriptions: 0, blockers: 0 },
  };
  const others = await standIns(outside);
  const config = identityConfig({
    MEDIA_GRPC_ADDRESS: others.address,
    GYMS_GRPC_ADDRESS: others.address,
    WALLET_GRPC_ADDRESS: others.address,
    CONTENT_GRPC_ADDRESS: others.address,
    STORE_BILLING_GRPC_ADDRESS: others.address,
    ...env,
  });
  // From the real time on: the database's own expiry goes by it.
  const clock = new ManualClock(systemClock.now());
  const service = await startIdentity(config, { clock, ...overrides });
  const database = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  const identity = createGrpcClient({
    definition: grpcDefinitions.identity(),
    address: service.grpcAddress,
    target: 'identity',
    from: 'gateway',
    signer: testSigner,
    deadlineMs: 30_000,
  });
  return {
    config,
    clock,
    send: apiClient(service.url),
    identity,
    outside,
    database,
    url: service.url,
    grpcAddress: service.grpcAddress,
    close: async () => {
      identity.close();
      await service.close();
      await database.close();
      await others.close();
      await dropDatabase(config);
      await dropQueues(config, 'identity', ['sms.send']);
    },
  };
};

export const PASSWORD = 'correct horse battery';

let people = 0;
const run = randomBytes(3).toString('hex');

/** A valid registration that nobody has sent before. */
export const registration = (fields: Record<string, unknown> = {}): Record<string, unknown> => {
  people += 1;
  return {
    username: `person.${run}.${people}`,
    email: `person.${run}.${people}@example.org`,
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
  // biome-ignore lint/suspicious/noExplicitAny: the resource as it was answered, under test
  user: any;
}

/** Who presents `token`, as the gateway would sign it. Rejects when the token is not valid. */
export const callerOf = async (world: World, token: string): Promise<UserCaller> => {
  const answer = await world.identity.call('Introspect', { token });
  return {
    kind: 'user',
    userId: answer.user_id,
    permissions: new Set(answer.permissions.filter(isPermission)),
    tokenId: answer.token_id,
    tokenKind: answer.token_kind as UserCaller['tokenKind'],
  };
};

export const isLive = (world: World, token: string): Promise<boolean> =>
  world.identity.call('Introspect', { token }).then(
    () => true,
    (error: { kind?: unknown }) => {
      if (error.kind === 'unauthenticated') return false;
      throw error;
    },
  );

const toPerson = async (world: World, answer: Answer): Promise<Person> => ({
  id: answer.body.user.id,
  token: answer.body.token,
  caller: await callerOf(world, answer.body.token),
  user: answer.body.user,
});

export const join = async (world: World, fields: Record<string, unknown> = {}): Promise<Person> => {
  const answer = await world.send('POST', '/auth/register', { body: registration(fields) });
  if (answer.status !== 201) throw new Error(`registration: ${answer.status} ${answer.text}`);
  return toPerson(world, answer);
};

let logins = 0;

/** From an address of its own each time, so that no test spends another's budget. */
export const logIn = (world: World, login: string, password: string = PASSWORD): Promise<Answer> => {
  logins += 1;
  const address = `10.${(logins >> 16) & 255}.${(logins >> 8) & 255}.${logins & 255}`;
  return world.send('POST', '/auth/login', {
    body: { login, password },
    headers: { 'x-client-address': address },
  });
};

/** Gives roles directly, as the seeds do: before there is anyone who may. */
export const giveRoles = async (world: World, userId: number, roleIds: number[]): Promise<void> => {
  await world.database
    .collection('users')
    .updateOne({ _id: userId as never }, { $set: { role_ids: roleIds } });
};

/** A new person with these roles, signed in. */
export const joinAs = async (
  world: World,
  role: 'member' | 'operator' | 'administrator',
  fields: Record<string, unknown> = {},
): Promise<Person> => {
  const person = await join(world, fields);
  await giveRoles(world, person.id, [{ member: 1, operator: 2, administrator: 3 }[role]]);
  return { ...person, caller: await callerOf(world, person.token) };
};
