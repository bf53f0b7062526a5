import { connectMongo, syncIndexes } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type CommandWatch, monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { dropDatabase } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Connection } from 'mongoose';
import { newMember } from '../src/app/register.ts';
import { searchQuery } from '../src/domain/search-text.ts';
import { createNotificationStore } from '../src/store/notifications.ts';
import { createOauthStore } from '../src/store/oauth.ts';
import { createReferralScoreStore } from '../src/store/referral-scores.ts';
import { createRoleStore } from '../src/store/roles.ts';
import { createTokenStore } from '../src/store/tokens.ts';
import { createUserStore } from '../src/store/users.ts';
import { identityConfig } from './support.ts';

const config = monitored(identityConfig());
let connection: Connection;
let watch: CommandWatch;

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
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  ({ users, tokens } = stores());
  roles = createRoleStore(connection);
  oauth = createOauthStore(connection);
  scores = createReferralScoreStore(connection);
  notifications = createNotificationStore(connection);
  await syncIndexes(connection);
  for (let id = 1; id <= 20; id += 1)
    await inTransaction(connection, (session) => users.insert(session, member(id)));
  watch = watchCommands(config.MONGODB_DATABASE);
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

/** What of all that `work` asks the database would scan a collection. */
const scansOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  const sent = await watch.during(work);
  expect(sent.length).toBeGreaterThan(0);
  return watch.scans(sent);
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
/** A question about one account, and the same about several. */
const both = async (ask: (ids: number[]) => Promise<unknown>): Promise<void> => {
  await ask([1]);
  await ask([1, 2]);
};

describe('no query of the service scans a collection', () => {
  test.each(Object.entries(filters))(
    'the list of %s, by page and by cursor, and its total',
    async (_name, filter) => {
      for (const ascending of [false, true]) {
        const asked = { ...base, ...filter, ascending };
        const scans = [
          ...(await scansOf(() => users.list(asked, { skip: 2, limit: 5 }))),
          ...(await scansOf(() => users.list(asked, { skip: 0, limit: 5, afterId: 10 }))),
          ...(await scansOf(() => users.list({ ...asked, withPending: true }, { skip: 0, limit: 5 }))),
          ...(await scansOf(() => users.count(asked))),
        ];
        expect(scans).toEqual([]);
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
    ['how many one, and several, have referred', () => both((ids) => users.countReferred(ids))],
    [
      'referrers that one, and several, have referred',
      () => both((ids) => all(users.referrersReferred(ids))),
    ],
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
    ['the last known scores', () => scores.findLast([1, 2])],
    ['a score to keep', () => scores.save({ _id: 1, score: 1, computed_at: now })],
  ])('%s', async (_name, work) => {
    expect(await scansOf(work)).toEqual([]);
  });

  test('the explanation does find a scan', async () => {
    const scans = await scansOf(() => connection.collection('users').find({ height: 1 }).toArray());
    expect(scans).toEqual([expect.stringContaining('COLLSCAN')]);
  });
});
