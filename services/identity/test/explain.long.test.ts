import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { type CommandWatch, monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { FILLED, fillLike } from '@fitness/shared/testing/fill.ts';
import { dropDatabase } from '@fitness/shared/testing/harness.ts';
import { exceptOnPrebuilt } from '@fitness/shared/testing/query-plans.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Connection } from 'mongoose';
import { newMember } from '../src/app/accounts/register.ts';
import { hashCode } from '../src/domain/confirmation-code.ts';
import { contactSearch, nameSearch, searchGrams } from '../src/domain/search-text.ts';
import { createNewNotifications } from '../src/store/notifications.ts';
import type { OauthRecord } from '../src/store/oauth.ts';
import { createStore, type Store } from '../src/store/store.ts';
import { SHARDS } from './shards.ts';
import { identityConfig, noEpochs } from './support.ts';

const EXCEPTIONS = [
  ...exceptOnPrebuilt('it sorts the rows that an index has found, even if the index is in that order', [
    'SORT: find notifications {"user_id":"?"} sort {"_id":-1} limit',
    'SORT: find notifications {"user_id":"?","_id":{"$lt":"?"}} sort {"_id":-1} limit',
    'SORT: find devices {"user_id":"?"} sort {"_id":-1} limit',
    'SORT: find users {"standing":"?","is_trainer":"?","_id":{"$gte":"?","$lt":"?"}} sort {"_id":-1} limit',
    'SORT: find users {"standing":"?","is_trainer":"?","_id":{"$gte":"?","$lt":"?"}} sort {"_id":1} limit',
    'SORT: find users {"role_ids":"?","_id":{"$gte":"?","$lt":"?"}} sort {"_id":-1} limit',
    'SORT: find users {"role_ids":"?","_id":{"$gte":"?","$lt":"?"}} sort {"_id":1} limit',
  ]),
  ...exceptOnPrebuilt('it reads a whole list to sort or to count it', [
    'a wide index scan: aggregate users {"standing":{"$in":["?"]}}',
  ]),
];

const config = monitored(identityConfig());
let connection: Connection;
let watch: CommandWatch;

let users: Store['users'];
let tokens: Store['tokens'];
let roles: Store['roles'];
let oauth: Store['oauth'];
let notifications: Store['notifications'];
let scores: Store['scores'];
let devices: Store['devices'];
let codes: Store['codes'];
let transaction: Store['transaction'];

const now = new Date('2026-01-01T00:00:00Z');
const later = new Date('2100-01-01T00:00:00Z');
const FIRST = ['Aram', 'Bahar', 'Cyrus', 'Darya', 'Elham', 'Farid', 'Golnar', 'Homa', 'Iman', 'Jaleh'];
const LAST = ['Ahmadi', 'Bakhtiar', 'Daneshvar', 'Esfahani', 'Golzar', 'Hosseini', 'Kiani', 'Mostofi'];
const nameOf = (names: readonly string[], n: number): string => names[n % names.length] ?? '';

const member = (id: number) => {
  const [first, last] = [nameOf(FIRST, id), nameOf(LAST, Math.floor(id / FIRST.length))];
  const person = {
    username: `${first}.${last}.${id}`,
    email: `${id}@example.org`,
    phone: `+9891200${10_000 + id}`,
    first_name: first,
    last_name: last,
  };
  return newMember({
    id,
    person,
    passwordHash: 'hash',
    referralCode: `CODE${id}`,
    referrerId: id > 1 ? 1 : null,
    createdAt: now,
  });
};
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

const CODE = { id: 'x', hash: hashCode('x', '123456'), expires_at: later, tries: 0 };

const record = (id: string) => ({
  _id: id,
  user_id: 5,
  grant_id: 'grant',
  uid: null,
  payload: '{}',
  expires_at: later,
});

const notification = (id: number) => ({
  _id: id,
  user_id: id,
  type: 'boost_ended' as const,
  data: {},
  created_at: now,
  read_at: null,
});

const device = (id: number) => ({
  _id: id,
  user_id: id,
  session: `hash-${id}`,
  push_token: `push-${id}`,
  platform: 'android' as const,
  locale: 'fa',
  created_at: now,
  expires_at: later,
});

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  ({ users, tokens, roles, oauth, notifications, scores, codes, devices, transaction } = createStore(
    connection,
    createLog({ service: 'test', level: 'silent' }),
    noEpochs,
  ));
  await ensureIndexes(connection);
  await fill();
  watch = watchCommands(config.MONGODB_DATABASE, {
    exceptions: EXCEPTIONS,
    shards: SHARDS,
    small: { roles: 'a handful of named sets of permissions' },
  });
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const filters = {
  none: {},
  'a search': { search: nameSearch('homa.kiani') },
  'a short search': { search: nameSearch('u') },
  'a search in all fields': { search: contactSearch('org') },
  is_trainer: { isTrainer: true },
  'a role': { roleId: 2 },
  'several filters': { search: nameSearch('farid'), isTrainer: false, roleId: 2 },
};

/** Only these grams are stored, because an index of all grams of all accounts takes minutes to fill. */
const SEARCHED = new Set(
  Object.values(filters).flatMap((filter) => ('search' in filter ? (filter.search?.grams ?? []) : [])),
);
const searched = (grams: readonly string[]): string[] => grams.filter((gram) => SEARCHED.has(gram));

/** The filled rows belong to users with this id or a higher one. No tested command deletes them. */
const OWNER = 1_000;
const ownerOf = (n: number): number => OWNER + (n % 4_000);

/** Fills the collections with changed copies of rows that the stores have written. */
const fill = async (): Promise<void> => {
  const real = FILLED + 1;
  const like = (collection: string, change: (n: number) => Record<string, unknown>): Promise<void> =>
    fillLike(connection, collection, change);
  await transaction(async (session) => {
    await users.insert(session, member(real));
    await tokens.insert(session, token(real), 0);
    await createNewNotifications(connection).insert(session, notification(real));
    await devices.put(session, device(real));
  });
  await oauth.put(record('Session:real'));
  await oauth.insertClient('real', '{}', later);
  await scores.save({ _id: real, score: 1, computed_at: later });
  await codes.replace(real, 'reset', CODE);
  await like('users', accountChange);
  await like('users_texts', (n) => ({ row: n, grams: searched(searchGrams(member(n))) }));
  await like('login_keys', (n) => ({ _id: `username:user.${n}`, user_id: n, stamp: `${n}` }));
  await like('tokens', (n) => ({
    _id: `filled-${n}`,
    user_id: ownerOf(n),
    kind: n % 2 === 0 ? 'personal' : 'oauth',
    token_number: n % 2 === 0 ? n : null,
    grant_id: n % 2 === 0 ? null : `grant-${n % 5_000}`,
  }));
  await like('notifications', (n) => ({
    _id: n,
    user_id: ownerOf(n),
    read_at: n % 3 === 0 ? null : now,
  }));
  await like('oauth_records', (n) => ({
    _id: `RefreshToken:${n}`,
    user_id: ownerOf(n),
    grant_id: `grant-${n % 5_000}`,
    uid: n % 10 === 0 ? `uid-${n}` : null,
  }));
  await like('devices', (n) => ({
    _id: n,
    user_id: ownerOf(n),
    session: `filled-${n}`,
    push_token: `filled-push-${n}`,
  }));
  await like('oauth_clients', (n) => ({ _id: `client-${n}` }));
  await like('referral_scores', (n) => ({ _id: n, computed_at: later }));
  await like('confirmation_codes', (n) => ({ _id: n }));
};

/** Every tenth deletion is pending, every tenth user is a trainer, and every 500th is an operator. */
const accountChange = (n: number): Record<string, unknown> => {
  const account = member(n);
  const { _id, username, email, phone, referral_code } = account;
  const isPending = n % 10 === 0;
  return {
    ...{ _id, username, email, phone, referral_code },
    referrer_user_id: n > 1 ? Math.ceil(n / 5) : null,
    has_referrals: n <= FILLED / 5,
    is_trainer: n % 10 === 1,
    role_ids: n % 500 === 0 ? [1, 2] : [1],
    deletion_scheduled_at: isPending ? later : null,
    standing: isPending ? 'pending' : 'live',
  };
};

/** The faults of the query plans of all commands that `work` sends. */
const faultsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  const sent = await watch.during(work);
  expect(sent.length).toBeGreaterThan(0);
  return watch.faults(sent);
};

const base = { standings: ['live'] as const };
const size = { total: undefined, newest: FILLED + 1 };
const page = { order: 'DESC' as const, skip: 0, take: 5, counted: true };
const all = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const read: T[] = [];
  for await (const row of rows) read.push(row);
  return read;
};
/** The same query for one account and for several. */
const forOneAndSeveral = async (query: (ids: number[]) => Promise<unknown>): Promise<void> => {
  await query([1]);
  await query([1, 2]);
};

describe('query plans with 20,000 rows in each collection', () => {
  test.each(Object.entries(filters))(
    'an index serves the list and the count of users filtered by %s, by page and by cursor',
    async (_name, filter) => {
      const query = { ...base, ...filter };
      const faults = await faultsOf(() => users.count(query));
      for (const order of ['DESC', 'ASC'] as const) {
        const first = { ...page, order };
        const both = { ...query, standings: ['live', 'pending'] as const };
        faults.push(
          ...(await faultsOf(() => users.list(query, size, { ...first, skip: 2 }))),
          ...(await faultsOf(() => users.list(query, size, { ...first, skip: 1_000 }))),
          ...(await faultsOf(() => users.list(query, size, { ...first, after: 10_000, counted: false }))),
          ...(await faultsOf(() => users.list(both, size, first))),
        );
      }
      expect(faults).toEqual([]);
    },
  );

  test('a search is counted only if counting reads at most 1,000 accounts', async () => {
    const read = (search: string) =>
      users.list({ standings: ['live', 'pending'], search: nameSearch(search) }, size, page);
    // 250 of the 500 with its rarest gram.
    expect((await read('homa.kiani')).total).toBe(FILLED / 80);
    // 500 of the 2,000 with each of its grams.
    expect((await read('farid')).total).toBeUndefined();
    expect((await read('nobody')).total).toBe(0);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['an account by id', () => users.find(1)],
    ['accounts by id', () => users.findMany([1, 2, 3])],
    ['erased accounts by id', () => users.findErased([1, 2, 3])],
    ['the licenses to review', () => users.licensesToReview({ skip: 0, limit: 5, afterMediaId: 3 })],
    ['the number of licenses to review', () => users.countLicensesToReview()],
    [
      'the accounts renamed since a review',
      () => users.renamedSinceReview({ skip: 0, limit: 5, afterId: 3 }),
    ],
    ['the number of accounts renamed since a review', () => users.countRenamedSinceReview()],
    [
      'the pending deletions',
      async () => {
        const pending = { ...base, standings: ['pending'] as const };
        await users.list(pending, size, page);
        // A list of few accounts is read as a whole.
        await users.list(pending, { ...size, total: 10 }, page);
        await users.count(pending);
      },
    ],
    ['a login', () => users.findByLogin('user.1')],
    ['a referral code', () => users.findByReferralCode('CODE1')],
    ['taken names', () => users.findTaken({ username: 'user.1', email: 'a@b.c', phone: '+1' })],
    ['hidden accounts', () => users.partitionHidden([1, 2])],
    ['the numbers of referrals', () => users.countReferralsByUser([1, 2])],
    [
      'the number of referrals of one and of several users',
      () => forOneAndSeveral((ids) => users.countReferralsOfAll(ids)),
    ],
    [
      'the referrers among the referrals of one and of several users',
      () => forOneAndSeveral((ids) => all(users.referredReferrers(ids))),
    ],
    ['accounts due for deletion', () => all(users.dueForDeletion(now))],
    ['whether a role is assigned', () => users.isRoleAssigned(3)],
    ['another holder of some roles', () => transaction((session) => users.findHolder([2, 3], 1, session))],
    ['a registration', () => transaction((session) => users.insert(session, member(FILLED + 2)))],
    ['a change', () => transaction((session) => users.update(session, 1, { username: 'changed.name' }))],
    ['a password', () => transaction((session) => users.setPassword(session, 1, 'x', 0))],
    [
      'a scheduled deletion',
      () =>
        transaction((session) => users.scheduleDeletion(session, 2, { requestedAt: now, scheduledAt: now })),
    ],
    [
      'a postponed deletion',
      () => transaction((session) => users.postponeDeletion(session, 2, { from: now, to: later })),
    ],
    ['a cancelled deletion', () => transaction((session) => users.cancelDeletion(session, 2))],
    ['an erasure', () => transaction((session) => users.erase(session, 3, now))],
    ['the erasure of a due account', () => transaction((session) => users.erase(session, 4, now, later))],
    ['a live account that is written to', () => transaction((session) => users.touchIfLive(session, 1))],
    ['a deleted score', () => transaction((session) => scores.eraseAccount(session, 1))],
    ['a new token', () => transaction((session) => tokens.insert(session, token(1), 0))],
    [
      'the session of a sign-in',
      async () => {
        const match = await users.findLogin('user.5');
        if (match === null) throw new Error('there is no user.5');
        const session = { ...token(5), _id: 'of a sign-in' };
        expect(
          await transaction((within) => tokens.insertSession(within, session, match.key, 'network')),
        ).toBe(true);
      },
    ],
    ['a network that the account has signed in from', () => users.knowsNetwork(5, 'network')],
    ['forgotten networks', () => transaction((session) => users.forgetNetworks(session, 5))],
    ['a token', () => tokens.findLive('hash-1', now)],
    ['personal tokens', () => tokens.listNumbered(OWNER, 'personal', now, { skip: 0, limit: 5 })],
    [
      'personal tokens after a cursor',
      () => tokens.listNumbered(OWNER, 'personal', now, { skip: 0, limit: 5, beforeNumber: 16_000 }),
    ],
    ['the number of personal tokens', () => tokens.countNumbered(OWNER, 'personal', now)],
    [
      'a revoked personal token',
      () => transaction((session) => tokens.deleteNumbered(session, 1, 'personal', 1)),
    ],
    ['the use of a token', () => tokens.markUsed('hash-5', later, now)],
    ['a sign-out', () => transaction((session) => tokens.delete(session, 1, 'hash-1'))],
    ['the revocation of all tokens', () => transaction((session) => tokens.revokeAll(session, 1))],
    [
      'the revocation of all other tokens',
      () => transaction((session) => tokens.revokeOthers(session, 1, 'hash-1')),
    ],
    [
      'the device of a session',
      () => transaction((session) => devices.find(session, { ...device(1), user_id: OWNER })),
    ],
    ['the devices of some sessions', () => devices.ofSessions(OWNER, ['filled-1', 'filled-2'])],
    ['a registered device', () => transaction((session) => devices.put(session, device(1)))],
    ['the devices of an account', () => transaction((session) => devices.idsOf(session, OWNER, now))],
    ['the language of the newest device', () => devices.localeOf(OWNER, now)],
    ['a removed device', () => devices.delete(1, 1)],
    ['a device that is gone', () => transaction((session) => devices.deleteGone(session, device(1)))],
    [
      'a page of notifications',
      () => notifications.list(OWNER, { mode: 'page', page: 2, perPage: 5, skip: 5 }),
    ],
    [
      'notifications after a cursor',
      () => notifications.list(OWNER, { mode: 'cursor', perPage: 5, after: [16_000] }),
    ],
    ['the number of unread notifications', () => notifications.unreadCount(OWNER)],
    ['a notification marked as read', () => notifications.markRead(OWNER, 12_000, now)],
    [
      'the deletion of all notifications',
      () => transaction((session) => notifications.eraseAccount(session, 1, 400)),
    ],
    ['a written OAuth record', () => oauth.put(record('Session:1'))],
    ['an OAuth record', () => oauth.find('Session:1', now)],
    ['an OAuth session by uid', () => oauth.findByUid('uid', now)],
    ['a grant', () => transaction((session) => oauth.insertGrant(session, record('Grant:1'), 0))],
    [
      'an authorization code',
      () => transaction((session) => oauth.insertUnderGrant(session, 'Grant:1', record('Code:1'), now)),
    ],
    [
      'an access token',
      () =>
        transaction((session) => oauth.insertAccessToken(session, 'Grant:1', { ...token(5), kind: 'oauth' })),
    ],
    ['an access token by its hash', () => oauth.findAccessToken('hash-5')],
    ['a used authorization code', () => oauth.consume('Code:1', now)],
    [
      'a used refresh token and its retired twin',
      () => {
        const refreshToken = { ...record('RefreshToken:1'), uid: 'uid' } as OauthRecord;
        return transaction((session) =>
          oauth.useRefreshToken(session, 'Grant:1', refreshToken, { now, since: now }),
        );
      },
    ],
    ['a used grant', () => oauth.markGrantUsed('Grant:1', now, now)],
    ['grants of an account', () => oauth.listGrants(5, now, { skip: 0, limit: 31 })],
    ['the number of grants', () => oauth.countGrants(5, now)],
    ['a revoked grant', () => transaction((session) => oauth.revokeGrant(session, 'Grant:1'))],
    ['a revoked grant by id', () => transaction((session) => oauth.revokeNumberedGrant(session, 5, 1))],
    ['clients', () => oauth.findClients(['client'])],
    ['a client', () => oauth.findClient('client', now)],
    [
      'an extended client',
      () => transaction((session) => oauth.extendClientExpiry(session, 'client', later)),
    ],
    ['a correct confirmation code', () => codes.check(1, 'reset', '123456', now, { network: 'network' })],
    ['a restored confirmation code', () => codes.restore(1, 'reset', CODE, null)],
    [
      'a consumed confirmation code',
      () => transaction((session) => codes.consume(session, 1, 'reset', 'x', now)),
    ],
    [
      'a deletion code that is checked in a transaction',
      () =>
        transaction((session) =>
          codes.check(1, 'deletion', '000000', now, {
            lockout: { session, onLocked: async () => undefined },
          }),
        ),
    ],
    [
      'a stored code for a new phone',
      () => transaction((session) => codes.replace(1, 'phone', { ...CODE, phone: '+1' }, session)),
    ],
    ['a withdrawn confirmation code', () => transaction((session) => codes.withdraw(session, 1, 'phone'))],
    ['invalidated confirmation codes', () => transaction((session) => codes.invalidate(session, 1))],
    ['deleted confirmation codes', () => transaction((session) => codes.eraseAccount(session, 1))],
    ['roles by id', () => roles.findMany([1, 2])],
    ['a role by name', () => roles.findByName('member')],
    ['the last known scores', () => scores.findLast([1, 2])],
    ['a saved score', () => scores.save({ _id: 1, score: 1, computed_at: now })],
  ])('an index serves %s', async (_name, work) => {
    expect(await faultsOf(work)).toEqual([]);
  });
});

test('every listed scatter belongs to one of these commands', () => {
  expect(watch.unusedScatters()).toEqual([]);
});
