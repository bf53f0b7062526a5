import { connectMongo, syncIndexes } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { dropDatabase } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type Connection } from 'mongoose';
import { newMember } from '../src/app/register.ts';
import { searchQuery } from '../src/domain/search-text.ts';
import { createNotificationStore } from '../src/store/notifications.ts';
import { createOauthStore } from '../src/store/oauth.ts';
import { createReferralScoreStore } from '../src/store/referral-scores.ts';
import { createRoleStore } from '../src/store/roles.ts';
import { createTokenStore } from '../src/store/tokens.ts';
import { createUserStore } from '../src/store/users.ts';
import { identityConfig } from './support.ts';

type Command = Record<string, unknown>;
type Plan = { stage?: string; inputStage?: Plan; inputStages?: Plan[]; queryPlan?: Plan };

const EXPLAINED = ['find', 'aggregate', 'update', 'delete', 'findAndModify'];
const config = identityConfig();
let connection: Connection;
let sent: Command[] = [];

const stores = () => ({
  users: createUserStore(connection),
  tokens: createTokenStore(connection),
});
let users: ReturnType<typeof stores>['users'];
let tokens: ReturnType<typeof stores>['tokens'];
let roles: ReturnType<typeof createRoleStore>;
let oauth: ReturnType<typeof createOauthStore>;
let notifications: ReturnType<typeof createNotificationStore>;
let scores: ReturnType<typeof createReferralScoreStore>;

const now = new Date('2026-01-01T00:00:00Z');
const later = new Date('2100-01-01T00:00:00Z');
const member = (id: number) =>
  newMember(
    id,
    {
      username: `user.${id}`,
      email: `user.${id}@example.org`,
      phone: `+9891200${10_000 + id}`,
      first_name: 'A',
      last_name: 'B',
    },
    'hash',
    `CODE${id}`,
    id > 1 ? 1 : null,
    now,
  );
const token = (id: number) => ({
  _id: `hash-${id}`,
  user_id: id,
  kind: 'personal' as const,
  token_number: id,
  name: 'x',
  permissions: null,
  created_at: now,
  expires_at: later,
});

const record = (id: string) => ({
  _id: id,
  user_id: 5,
  grant_id: 'grant',
  uid: null,
  payload: '{}',
  expires_at: later,
});

beforeAll(async () => {
  mongoose.set('sanitizeFilter', true);
  const servers = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  await servers.close();
  connection = await mongoose
    .createConnection(config.MONGODB_URI, {
      dbName: config.MONGODB_DATABASE,
      monitorCommands: true,
      autoIndex: false,
      autoCreate: false,
    })
    .asPromise();
  ({ users, tokens } = stores());
  roles = createRoleStore(connection);
  oauth = createOauthStore(connection);
  scores = createReferralScoreStore(connection);
  notifications = createNotificationStore(connection);
  await syncIndexes(connection);
  for (let id = 1; id <= 20; id += 1)
    await inTransaction(connection, (session) => users.insert(session, member(id)));
  connection.getClient().on('commandStarted', ({ commandName, command }) => {
    if (EXPLAINED.includes(commandName)) sent.push({ ...(command as Command) });
  });
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

type Write = { q: unknown; hint?: unknown };

/** What a command looks up, as a find: not every database explains the lookup of a write. */
const lookupOf = (command: Command): Command => {
  const [verb = ''] = Object.keys(command);
  const collection = command[verb];
  const find = ({ q, hint }: Write): Command => ({
    find: collection,
    filter: q,
    ...(hint === undefined ? {} : { hint }),
  });
  switch (verb) {
    case 'find': {
      const { filter, sort, skip, limit, hint } = command;
      const given = Object.entries({ filter, sort, skip, limit, hint }).filter(
        ([, value]) => value !== undefined,
      );
      return { find: collection, ...Object.fromEntries(given) };
    }
    case 'update':
      return find((command.updates as Write[])[0] as Write);
    case 'delete':
      return find((command.deletes as Write[])[0] as Write);
    case 'findAndModify':
      return find({ q: command.query, hint: command.hint });
    default: {
      const { pipeline, hint } = command;
      return { aggregate: collection, pipeline, cursor: {}, ...(hint === undefined ? {} : { hint }) };
    }
  }
};

const stagesOf = (plan: Plan | undefined): string[] =>
  plan === undefined
    ? []
    : [plan.stage ?? '', ...[plan.queryPlan, plan.inputStage, ...(plan.inputStages ?? [])].flatMap(stagesOf)];

const plansIn = (answer: unknown): Plan[] => {
  if (typeof answer !== 'object' || answer === null) return [];
  return Object.entries(answer).flatMap(([key, value]) =>
    key === 'winningPlan' ? [value as Plan] : plansIn(value),
  );
};

/** Everything that `work` asks the database, each with the stages of its plan. */
const explain = async (work: () => Promise<unknown>): Promise<string[]> => {
  sent = [];
  await work();
  const commands = sent;
  expect(commands.length).toBeGreaterThan(0);
  const plans: string[] = [];
  for (const command of commands) {
    const [verb = ''] = Object.keys(command);
    const answer = await connection.db?.command({ explain: lookupOf(command), verbosity: 'queryPlanner' });
    const stages = plansIn(answer).flatMap(stagesOf);
    // An explanation that shows no plan would let everything pass.
    expect(stages.length).toBeGreaterThan(0);
    plans.push(`${verb} ${String(command[verb])}: ${stages.join(' < ')}`);
  }
  return plans;
};

const filters = {
  everything: {},
  'a search': { search: searchQuery('user.1') },
  'a short search': { search: searchQuery('u') },
  'a search in everything': { search: searchQuery('example.org'), searchEverything: true },
  trainers: { isTrainer: true },
  'a role': { roleId: 2 },
  'all at once': { search: searchQuery('user'), isTrainer: false, roleId: 1 },
};
const base = { searchEverything: false, withPending: false, ascending: false };
const transact = (work: Parameters<typeof inTransaction>[1]) => inTransaction(connection, work);
const all = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const read: T[] = [];
  for await (const row of rows) read.push(row);
  return read;
};

describe('no query of the service scans a collection', () => {
  test.each(Object.entries(filters))(
    'the list of %s, by page and by cursor, and its total',
    async (_name, filter) => {
      for (const ascending of [false, true]) {
        const asked = { ...base, ...filter, ascending };
        const plans = [
          ...(await explain(() => users.list(asked, { skip: 2, limit: 5 }))),
          ...(await explain(() => users.list(asked, { skip: 0, limit: 5, afterId: 10 }))),
          ...(await explain(() => users.list({ ...asked, withPending: true }, { skip: 0, limit: 5 }))),
          ...(await explain(() => users.count(asked))),
        ];
        expect(plans.filter((plan) => plan.includes('COLLSCAN'))).toEqual([]);
      }
    },
  );

  test.each<[string, () => Promise<unknown>]>([
    ['an account by id', () => users.findById(1)],
    ['accounts by id', () => users.findByIds([1, 2, 3])],
    ['erased accounts by id', () => users.findErased([1, 2, 3])],
    ['a login', () => users.findByLogin('user.1')],
    ['a referral code', () => users.findByReferralCode('CODE1')],
    ['taken names', () => users.findTaken({ username: 'user.1', email: 'a@b.c', phone: '+1' })],
    ['hidden accounts', () => users.partitionHidden([1, 2])],
    ['referrals', () => users.countReferrals([1, 2])],
    ['a level of referrals', () => all(users.referralsOf([1, 2]))],
    ['accounts due for deletion', () => all(users.dueForDeletion(now))],
    ['who has a role', () => users.someoneHasRole(3)],
    ['who else has one of some roles', () => transact((session) => users.findHolder([2, 3], 1, session))],
    ['a change', () => transact((session) => users.update(session, 1, { username: 'changed.name' }))],
    ['a password', () => transact((session) => users.setPassword(session, 1, 'x', 0))],
    [
      'a scheduled deletion',
      () => transact((session) => users.scheduleDeletion(session, 2, { requestedAt: now, scheduledAt: now })),
    ],
    [
      'a postponed deletion',
      () => transact((session) => users.postponeDeletion(session, 2, { from: now, to: later })),
    ],
    ['a cancelled deletion', () => transact((session) => users.cancelDeletion(session, 2))],
    ['an erasure', () => transact((session) => users.erase(session, 3, now))],
    ['the erasure of a due account', () => transact((session) => users.erase(session, 4, now, later))],
    ['an account that is held', () => transact((session) => users.pin(session, 1))],
    ['a forgotten score', () => transact((session) => scores.forget(session, 1))],
    ['a new token', () => transact((session) => tokens.insert(session, token(1), 0))],
    ['a token', () => tokens.findLive('hash-1', now)],
    ['personal tokens', () => tokens.listPersonal(1, now, undefined, { skip: 0, limit: 5 })],
    [
      'personal tokens behind a cursor',
      () => tokens.listPersonal(1, now, ['posts.view'], { skip: 0, limit: 5, beforeNumber: 9 }),
    ],
    ['how many personal tokens', () => tokens.countPersonal(1, now, ['posts.view'])],
    ['a personal token revoked', () => tokens.deletePersonal(1, 1, ['posts.view'])],
    ['a session ended', () => tokens.delete('hash-1')],
    ['all tokens revoked', () => transact((session) => tokens.revokeAll(session, 1))],
    ['other tokens revoked', () => transact((session) => tokens.revokeOthers(session, 1, 'hash-1'))],
    ['a page of notifications', () => notifications.list(1, { mode: 'page', page: 2, perPage: 5, skip: 5 })],
    [
      'notifications behind a cursor',
      () => notifications.list(1, { mode: 'cursor', perPage: 5, after: [9] }),
    ],
    ['how many notifications are unread', () => notifications.unreadCount(1)],
    ['a notification read', () => notifications.markRead(1, 1, now)],
    ['all notifications gone', () => transact((session) => notifications.deleteOf(session, 1))],
    ['a record of OAuth written', () => oauth.put(record('Session:1'))],
    ['a record of OAuth', () => oauth.find('Session:1', now)],
    ['a session by its name', () => oauth.findByUid('uid', now)],
    ['a grant', () => transact((session) => oauth.insertGrant(session, record('Grant:1'), 0))],
    ['a code', () => transact((session) => oauth.insertUnderGrant(session, 'Grant:1', record('Code:1')))],
    [
      'an access token',
      () =>
        transact((session) => oauth.insertAccessToken(session, 'Grant:1', { ...token(5), kind: 'oauth' })),
    ],
    ['an access token as it was issued', () => oauth.findAccessToken('hash-5')],
    ['a code used', () => oauth.consume('Code:1', now)],
    ['a grant revoked', () => transact((session) => oauth.revokeGrant(session, 'Grant:1', 'grant'))],
    ['a client', () => oauth.findClient('client', now)],
    ['a client kept', () => transact((session) => oauth.keepClient(session, 'client', later))],
    ['roles by id', () => roles.findByIds([1, 2])],
    ['a role by name', () => roles.findByName('member')],
    ['scores that are kept', () => scores.findComputedSince([1, 2], now)],
    ['a score to keep', () => scores.save({ _id: 1, score: 1, computed_at: now })],
  ])('%s', async (_name, work) => {
    const plans = await explain(work);
    expect(plans.filter((plan) => plan.includes('COLLSCAN'))).toEqual([]);
  });

  test('the explanation does find a scan', async () => {
    const plans = await explain(() => connection.collection('users').find({ height: 1 }).toArray());
    expect(plans).toEqual([expect.stringContaining('COLLSCAN')]);
  });
});
