/** An operator's action and its audit entry are stored together or not at all. GET /audit-log shows the entries. */

import { type AuditLog, createAuditLog } from '@fitness/shared/audit/log.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { encodeCursor } from '@fitness/shared/http/pagination.ts';
import { systemClock, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { auditLogService } from '@fitness/shared/runtime/audit-service.ts';
import { createAuditObserver } from '@fitness/shared/testing/audit.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import {
  type Answer,
  appCaller,
  dropDatabase,
  restrictedCaller,
  standIn,
  standInService,
  testConfig,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type EventWatch, watchEvents } from './events.ts';
import { createOauthUser, type OauthUser, oauthOf } from './oauth-support.ts';
import { setUp } from './second-factor-support.ts';
import { type Harness, join, joinAs, type Person, startHarness } from './support.ts';

let harness: Harness;
let observer: ReturnType<typeof createAuditObserver>;
let administrator: Person;
let events: EventWatch;

/** A wallet with an audit log in a separate database. */
const walletConfig = testConfig('wallet');
let wallet: {
  server: GrpcServer;
  connection: Connection;
  audit: AuditLog;
  failing: 'list' | 'count' | undefined;
};

const startWallet = async (): Promise<typeof wallet> => {
  const { MONGODB_URI: uri, MONGODB_DATABASE: database } = walletConfig;
  const connection = await connectMongo({ uri, database });
  const log = createLog({ service: 'test', level: 'silent' });
  const options = { connection, service: 'wallet', clock: systemClock, random: systemRandom, log };
  const audit = createAuditLog(options);
  await ensureIndexes(connection);
  const state: Omit<typeof wallet, 'server'> = { connection, audit, failing: undefined };
  const list: AuditLog['list'] = (filter, page) => {
    if (state.failing === 'list') throw new Error('down');
    return audit.list(filter, page);
  };
  const count: AuditLog['count'] = (filter) => {
    if (state.failing === 'count') throw new Error('down');
    return audit.count(filter);
  };
  const server = await standIn(
    auditLogService({ ...audit, list, count }),
    standInService(grpcDefinitions.blockers(), {
      Evaluate: async () => ({ applies: false, extras_json: '{}' }),
    }),
  );
  return Object.assign(state, { server });
};

beforeAll(async () => {
  wallet = await startWallet();
  const { MONGODB_URI } = monitored(testConfig('identity'));
  harness = await startHarness({ MONGODB_URI, WALLET_GRPC_ADDRESS: wallet.server.address });
  observer = createAuditObserver(harness.database, 'identity');
  administrator = await joinAs(harness, 'administrator');
  events = await watchEvents(harness);
});
afterAll(async () => {
  await events.close();
  await harness.close();
  await wallet.server.close();
  await wallet.connection.close();
  await dropDatabase(walletConfig);
});

const change = (id: number, body: unknown, as = administrator.caller): Promise<Answer> =>
  harness.send('PUT', `/users/${id}`, { as, body, headers: { 'x-request-id': `change-${id}` } });

const ENTRY = () => ({ actorId: administrator.id, service: 'identity' });

describe('an operator’s action and its entry are one transaction', () => {
  test('a personal token and an app of an operator have an entry, those of a member have none', async () => {
    const oauth = oauthOf(harness);
    const [member, operator] = [await createOauthUser(harness), await createOauthUser(harness, 'operator')];
    const createBoth = (person: OauthUser) =>
      observer.observe(async () => {
        await oauth.connect(person, { scope: 'posts.view' });
        const body = { name: 'script', permissions: ['posts.view'] };
        return harness.send('POST', '/auth/tokens', { as: person.caller, body });
      });
    expect((await createBoth(member)).entries).toEqual([]);
    const { entries, written } = await createBoth(operator);
    const own = { actorId: operator.id, subjectType: 'user', subjectId: operator.id, before: {} };
    expect(entries).toMatchObject([
      { ...own, action: 'app.connect', after: { grant_id: expect.any(Number) } },
      { ...own, action: 'token.create', after: { token_id: expect.any(Number) } },
    ]);
    for (const { after } of entries) expect(after).toMatchObject({ permissions: ['posts.view'] });
    expect(written).toEqual(expect.arrayContaining(['notifications', 'oauth_records', 'tokens', 'users']));
  });

  test('a change of a profile has an entry with the changed fields', async () => {
    const { id, user } = await join(harness);
    const { result, entries, written } = await observer.observe(() =>
      change(id, { first_name: 'Forugh', bank_account_number: 'IR820540102680020817909002' }),
    );
    expect(result.status).toBe(200);
    expect(entries).toMatchObject([
      {
        ...ENTRY(),
        action: 'user.update',
        subjectType: 'user',
        subjectId: id,
        requestId: `change-${id}`,
        before: { first_name: user.first_name, bank_account_number: null },
        after: { first_name: 'Forugh', bank_account_number: 'IR820540102680020817909002' },
      },
    ]);
    expect(Object.keys(entries[0]?.after ?? {})).toHaveLength(2);
    expect(written).toContain('users');
  });

  test('a request with changes of several kinds has an entry for each kind', async () => {
    const { id } = await join(harness);
    await harness.identity.call('AttachLicense', { user_id: id, media_id: 50, filename: 'license.pdf' });
    const { result, entries, written } = await observer.observe(() =>
      change(id, {
        last_name: 'Farrokhzad',
        role_ids: [1, 2],
        trainer_license_approved: false,
        trainer_license_rejection_reason: 'Not legible',
      }),
    );
    expect(result.status).toBe(200);
    expect(entries.map(({ action }) => action)).toEqual([
      'user.update',
      'user.assign_roles',
      'trainer_license.review',
    ]);
    expect(entries[1]).toMatchObject({ before: { role_ids: [1] }, after: { role_ids: [1, 2] } });
    expect(entries[2]).toMatchObject({
      subjectId: id,
      before: { trainer_license_approved: null, trainer_license_rejection_reason: null },
      after: { trainer_license_approved: false, trainer_license_rejection_reason: 'Not legible' },
    });
    expect(written).toEqual(expect.arrayContaining(['notifications', 'users']));
  });

  test('a change of the name is not a review, but repeating the verdict for the new name is', async () => {
    const { id, user } = await join(harness);
    await harness.identity.call('AttachLicense', { user_id: id, media_id: 51, filename: 'license.pdf' });
    const verdict = { trainer_license_approved: true };
    expect((await change(id, verdict)).status).toBe(200);
    const renamed = await observer.observe(() => change(id, { first_name: 'Forugh' }));
    expect(renamed.entries.map(({ action }) => action)).toEqual(['user.update']);
    const { entries } = await observer.observe(() => change(id, verdict));
    expect(entries).toMatchObject([
      {
        action: 'trainer_license.review',
        before: { trainer_license_reviewed_name: `${user.first_name} ${user.last_name}` },
        after: { trainer_license_reviewed_name: null },
      },
    ]);
    expect((await observer.observe(() => change(id, verdict))).entries).toEqual([]);
  });

  test('a cleared license has an entry; its document is deleted after the commit, or on the event', async () => {
    const { id } = await join(harness);
    await harness.identity.call('AttachLicense', { user_id: id, media_id: 60, filename: 'license.pdf' });
    let committed: string[] = [];
    harness.standIns.whileDeleting = async () => {
      committed = (await observer.all())
        .filter(({ subjectId }) => subjectId === id)
        .map(({ action }) => action);
      throw new Error('out of order');
    };
    const { result, entries, written } = await observer.observe(() =>
      change(id, { trainer_license_image: null }),
    );
    harness.standIns.whileDeleting = undefined;
    expect([result.status, result.body.user.trainer_license_image]).toEqual([200, null]);
    expect(committed).toEqual(['trainer_license.review']);
    expect(entries).toMatchObject([
      {
        action: 'trainer_license.review',
        before: { trainer_license_media_id: 60, trainer_license_image: 'license.pdf' },
        after: { trainer_license_media_id: null, trainer_license_image: null },
      },
    ]);
    expect(written).toEqual(expect.arrayContaining(['outbox', 'users']));
    expect(await events.publishedAbout(id)).toContainEqual({
      type: 'identity.trainer_license.cleared',
      data: { user_id: id, media_id: 60 },
    });
  });

  test('a license whose clearing cannot be recorded keeps its document, and a repetition records it', async () => {
    const { id } = await join(harness);
    await harness.identity.call('AttachLicense', { user_id: id, media_id: 61, filename: 'license.pdf' });
    await observer.observe(() => change(id, { height: 170 }));
    const sequences = harness.database.collection<{ _id: string; value: unknown }>('audit_sequences');
    const counter = await sequences.findOne({ _id: 'audit' });
    await sequences.updateOne({ _id: 'audit' }, { $set: { value: 'not a number' } });
    const failed = await observer.observe(() => change(id, { trainer_license_image: null }));
    await sequences.updateOne({ _id: 'audit' }, { $set: { value: counter?.value } });
    expect([failed.result.status, failed.entries]).toEqual([500, []]);
    expect(harness.standIns.deletedLicensesOf).not.toContain(id);
    const user = await harness.database.collection('users').findOne({ _id: id as never });
    expect(user?.trainer_license_media_id).toBe(61);
    const repeated = await observer.observe(() => change(id, { trainer_license_image: null }));
    expect(repeated.entries).toMatchObject([
      { action: 'trainer_license.review', before: { trainer_license_media_id: 61 } },
    ]);
    expect(harness.standIns.licenseDeletions).toContainEqual({ userId: id, upTo: 61 });
  });

  test('a change of a role has an entry', async () => {
    const { result, entries, written } = await observer.observe(() =>
      harness.send('PUT', '/roles/2', { as: administrator.caller, body: { title: 'Support' } }),
    );
    expect(result.status).toBe(200);
    expect(entries).toMatchObject([
      {
        ...ENTRY(),
        action: 'role.update',
        subjectType: 'role',
        subjectId: 2,
        before: { title: 'Operator' },
        after: { title: 'Support' },
      },
    ]);
    expect(written).toContain('roles');
  });

  test('a deletion of an account has an entry', async () => {
    const { id } = await join(harness);
    const { result, entries, written } = await observer.observe(() =>
      harness.send('DELETE', `/users/${id}`, { as: administrator.caller }),
    );
    expect(result.status).toBe(204);
    expect(entries).toMatchObject([
      { ...ENTRY(), action: 'user.delete', subjectId: id, before: { erased_at: null } },
    ]);
    expect(entries[0]?.after?.erased_at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(written).toContain('users');
  });

  test('the removal of a second factor has an entry, and its repetition has none', async () => {
    const person = await join(harness);
    await setUp(harness, person);
    const remove = () =>
      harness.send('DELETE', `/users/${person.id}/second-factor`, { as: administrator.caller });
    const { result, entries, written } = await observer.observe(remove);
    expect(result.status).toBe(204);
    expect(entries).toMatchObject([
      {
        ...ENTRY(),
        action: 'second_factor.remove',
        subjectType: 'user',
        subjectId: person.id,
        before: { armed: true },
        after: { armed: false },
      },
    ]);
    expect(written).toEqual(expect.arrayContaining(['second_factors', 'tokens', 'notifications']));
    const again = await observer.observe(remove);
    expect([again.result.status, again.entries]).toEqual([204, []]);
  });

  test('the end of a session is recorded once', async () => {
    const person = await join(harness);
    const sessions = `/users/${person.id}/sessions`;
    const { data } = (await harness.send('GET', sessions, { as: administrator.caller })).body;
    const { id } = data[0];
    const end = () => harness.send('DELETE', `${sessions}/${id}`, { as: administrator.caller });
    const { result, entries, written } = await observer.observe(end);
    expect(result.status).toBe(204);
    expect(entries).toMatchObject([
      {
        ...ENTRY(),
        action: 'session.end',
        subjectType: 'user',
        subjectId: person.id,
        before: { session_id: id },
        after: null,
      },
    ]);
    expect(written).toContain('tokens');
    const again = await observer.observe(end);
    expect([again.result.status, again.entries]).toEqual([404, []]);
  });

  test('a refused request and one that changes nothing have no entry', async () => {
    const operator = await joinAs(harness, 'operator');
    const person = await join(harness);
    const { entries } = await observer.observe(async () => {
      const { caller: as } = operator;
      const email = administrator.user.email;
      expect((await change(administrator.id, { first_name: 'X' }, as)).status).toBe(403);
      expect((await change(person.id, { role_ids: [3] }, as)).status).toBe(403);
      expect((await change(person.id, { first_name: 'X', email })).status).toBe(422);
      expect((await change(person.id, { first_name: person.user.first_name })).status).toBe(200);
      expect((await harness.send('DELETE', `/users/${operator.id}`, { as })).status).toBe(403);
      const others = `/users/${administrator.id}/second-factor`;
      expect((await harness.send('DELETE', others, { as })).status).toBe(403);
      expect((await harness.send('PUT', '/roles/3', { as, body: { title: 'X' } })).status).toBe(403);
    });
    expect(entries).toEqual([]);
  });

  test('a user’s change of their own account has no entry', async () => {
    const { caller: as } = await join(harness);
    const { result, entries } = await observer.observe(() =>
      harness.send('PUT', '/auth/me', { as, body: { first_name: 'Parvin' } }),
    );
    expect([result.status, entries]).toEqual([200, []]);
  });
});

const list = (query = '', as = administrator.caller): Promise<Answer> =>
  harness.send('GET', `/audit-log${query}`, { as });

const inWallet = (subjectId: number, actorId = administrator.id): Promise<void> =>
  inTransaction(wallet.connection, (session) =>
    wallet.audit.record(session, {
      actorId,
      action: 'withdrawal.pay',
      subject: { type: 'payment', id: subjectId },
      before: { personId: null, values: { is_done: false } },
      after: { personId: null, values: { is_done: true } },
    }),
  );

describe('GET /audit-log', () => {
  test('the audit log requires audit.view, and third-party apps never have access', async () => {
    expect((await harness.send('GET', '/audit-log')).status).toBe(401);
    expect((await list('', (await join(harness)).caller)).status).toBe(403);
    expect((await list('', restrictedCaller(administrator.id, 'users.view_all'))).status).toBe(403);
    expect((await list('', restrictedCaller(administrator.id, 'audit.view'))).status).toBe(200);
    const scopes = appCaller(administrator.id, 'users.view_all', 'payments.view_all');
    expect((await list('', scopes)).status).toBe(403);
  });

  test('the list merges the logs of all services, newest first, by page and by cursor', async () => {
    const person = await join(harness);
    for (const subject of [1, 2, 3]) {
      await change(person.id, { height: 170 + subject });
      await inWallet(subject);
      harness.clock.advance(2_000);
    }
    const { body } = await list('?per_page=100');
    const ids = body.data.map(({ id }: { id: number }) => id);
    expect(ids).toEqual(ids.toSorted((one: number, other: number) => other - one));
    expect(new Set(body.data.map(({ service }: { service: string }) => service))).toEqual(
      new Set(['identity', 'wallet']),
    );
    expect(body.meta.total).toBe(ids.length);
    const byCursor: number[] = [];
    for (let cursor = ''; ; ) {
      const page = (await list(`?per_page=2${cursor}`)).body;
      byCursor.push(...page.data.map(({ id }: { id: number }) => id));
      if (page.meta.next_cursor === null) break;
      cursor = `&cursor=${page.meta.next_cursor}`;
    }
    expect(byCursor).toEqual(ids);
    const second = (await list('?per_page=2&page=2')).body;
    expect(second.data.map(({ id }: { id: number }) => id)).toEqual(ids.slice(2, 4));
    expect((await list('?per_page=2&page=1000')).body.data).toEqual([]);
  });

  test('the list can be filtered by actor, subject, action and period', async () => {
    const person = await join(harness);
    await change(person.id, { height: 180, role_ids: [1, 2] });
    await inWallet(9_000, 77);
    const actions = async (query: string): Promise<string[]> =>
      (await list(query)).body.data.map(({ action }: { action: string }) => action);
    expect(await actions(`?subject_type=user&subject_id=${person.id}`)).toEqual([
      'user.assign_roles',
      'user.update',
    ]);
    expect(await actions(`?subject_type=user&subject_id=${person.id}&action=user.update`)).toEqual([
      'user.update',
    ]);
    expect(await actions(`?subject_id=${person.id}`)).toEqual(['user.assign_roles', 'user.update']);
    expect(await actions('?subject_id=9000')).toEqual(['withdrawal.pay']);
    expect(await actions('?actor_id=77')).toEqual(['withdrawal.pay']);
    expect(new Set(await actions('?action=role.update'))).toEqual(new Set(['role.update']));
    expect(await actions('?to=2020-01-01')).toEqual([]);
    expect(await actions('?from=2100-01-01')).toEqual([]);
    expect(await actions('?actor_id=77&from=2020-01-01&to=2100-01-01')).toEqual(['withdrawal.pay']);
    expect((await list('?actor_id=77&page=1')).body.meta.total).toBe(1);
  });

  test.each([
    ['?subject_id=x', 'subject_id'],
    ['?action=anything', 'action'],
    ['?subject_type=anything', 'subject_type'],
    ['?from=yesterday', 'from'],
    ['?actor_id=x', 'actor_id'],
    ['?cursor=x', 'cursor'],
  ])('the query %s is rejected with 422 under %s', async (query, field) => {
    const { status, body } = await list(query);
    expect([status, Object.keys(body.errors)]).toEqual([422, [field]]);
  });

  test('the list returns 503 while one service fails', async () => {
    const cursor = encodeCursor([Number.MAX_SAFE_INTEGER], { url: '/api/v1/audit-log' });
    for (const [call, query] of [
      ['list', ''],
      ['count', ''],
      ['list', `?cursor=${cursor}`],
    ] as const) {
      wallet.failing = call;
      expect([call, query, (await list(query)).status]).toEqual([call, query, 503]);
    }
    wallet.failing = undefined;
    expect((await list()).status).toBe(200);
  });

  test('after an erasure the log shows that a personal value existed, but not the value', async () => {
    const person = await join(harness);
    await change(person.id, { first_name: 'Mehdi', bank_account_number: 'IR820540102680020817909002' });
    expect((await list(`?subject_type=user&subject_id=${person.id}`)).body.data[0].after).toEqual({
      first_name: 'Mehdi',
      bank_account_number: 'IR820540102680020817909002',
    });
    await harness.send('DELETE', `/users/${person.id}`, { as: administrator.caller });
    const { data } = (await list(`?subject_type=user&subject_id=${person.id}`)).body;
    expect(data.map(({ action }: { action: string }) => action)).toEqual(['user.delete', 'user.update']);
    expect(data[1].before).toEqual({ first_name: { erased: true }, bank_account_number: null });
    expect(data[1].after).toEqual({ first_name: { erased: true }, bank_account_number: { erased: true } });
    const stored = await harness.database.collection('audit_keys').findOne({ _id: person.id as never });
    expect(stored).toEqual({ _id: person.id, key: null });
  });
});
