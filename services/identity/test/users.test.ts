import { LIMITED_ACCESS_FIELDS } from '@fitness/contracts/user.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createUsers } from '../src/store/users.ts';
import {
  type Harness,
  join,
  joinAs,
  logIn,
  PASSWORD,
  type Person,
  revocations,
  startHarness,
} from './support.ts';

let harness: Harness;
let viewer: Person;
let operator: Person;
beforeAll(async () => {
  harness = await startHarness();
  viewer = await joinAs(harness, 'member');
  operator = await joinAs(harness, 'operator');
});
afterAll(() => harness.close());

type Row = { id: number } & Record<string, unknown>;

const list = (as: Person, query: Record<string, string | number> = {}) => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
  return harness.send('GET', `/users?${parameters.toString()}`, { as: as.caller });
};
const idsOf = async (as: Person, query: Record<string, string | number>): Promise<number[]> => {
  const { status, body } = await list(as, query);
  expect(status).toBe(200);
  return body.data.map((row: Row) => row.id);
};
const scheduleDeletion = (id: number) =>
  inTransaction(harness.database, (session) =>
    createUsers(harness.database, revocations).scheduleDeletion(session, id, {
      requestedAt: harness.clock.now(),
      scheduledAt: harness.clock.now(),
    }),
  );
const erase = (id: number) =>
  inTransaction(harness.database, (session) =>
    createUsers(harness.database, revocations).erase(session, id, harness.clock.now()),
  );

describe('GET /users', () => {
  test('listing users requires a token', async () => {
    expect((await harness.send('GET', '/users')).status).toBe(401);
  });

  test('listing users requires users.view_limited or users.view_all', async () => {
    const { status, body } = await harness.send('GET', '/users', { as: caller(viewer.id, ['posts.view']) });
    expect([status, Object.keys(body)]).toEqual([403, ['message']]);
  });
});

describe('a viewer', () => {
  test('a viewer with users.view_limited sees others without the hidden fields, and themselves in full', async () => {
    const name = `vis${viewer.id}`;
    const other = await join(harness, { first_name: name });
    const { body } = await list(viewer, { search: name });
    expect(body.data).toHaveLength(1);
    const expected = Object.fromEntries(
      Object.entries(other.user).filter(
        ([field]) => !(LIMITED_ACCESS_FIELDS as readonly string[]).includes(field),
      ),
    );
    expect(body.data[0]).toEqual(expected);
    const own = await list(viewer, { search: viewer.user.username });
    expect(own.body.data).toEqual([viewer.user]);
  });

  test('a viewer with users.view_all sees every field', async () => {
    const other = await join(harness);
    const { body } = await list(operator, { search: other.user.username });
    expect(body.data).toEqual([other.user]);
  });

  test('a page of any length causes no call to another service', async () => {
    await Promise.all(Array.from({ length: 5 }, () => join(harness)));
    harness.standIns.calls = { media: 0, subscriptions: 0, blockers: 0 };
    const { body } = await list(operator, { per_page: 5 });
    expect(body.data).toHaveLength(5);
    expect(harness.standIns.calls).toEqual({ media: 0, subscriptions: 0, blockers: 0 });
  });
});

describe('search', () => {
  test('a search finds part of a username, first or last name in any case and letter variant', async () => {
    const person = await join(harness, {
      username: 'Zar.Qand-77',
      first_name: 'علي',
      last_name: 'كاوه ۷۰۱۲',
    });
    for (const search of ['ar.qan', 'ZAR.QAND', 'لی', 'على', 'کاوه 7012', 'علی کاوه', 'ك', '۷۰۱۲', 'd-7']) {
      expect([search, await idsOf(viewer, { search })]).toEqual([search, [person.id]]);
    }
  });

  test('a search is not a pattern, and does not match across two fields', async () => {
    await join(harness, { username: 'plain.name.1', first_name: 'Sara', last_name: 'Xu' });
    for (const search of ['plain.*', '^plain', 'plain.name.1sara', 'name.1 Sara', '$ne', 'plain_name']) {
      expect([search, await idsOf(viewer, { search })]).toEqual([search, []]);
    }
    expect(await idsOf(viewer, { search: 'sara xu' })).toHaveLength(1);
  });

  test('a search does not match a text that contains only the grams of the query', async () => {
    await join(harness, { username: 'abcab.row' });
    expect(await idsOf(viewer, { search: 'cabc' })).toEqual([]);
    expect(await idsOf(viewer, { search: 'bcab' })).toHaveLength(1);
  });

  test('a search covers email and phone, in every spelling, only with users.view_all', async () => {
    const person = await join(harness, { email: 'Needle.Hay@stack.example', phone: '09129876543' });
    for (const search of ['needle.hay@', 'STACK.EXAMPLE', '+989129876543', '09129876543', '9876543']) {
      expect([search, await idsOf(operator, { search })]).toEqual([search, [person.id]]);
      expect([search, await idsOf(viewer, { search })]).toEqual([search, []]);
    }
  });

  test.each([
    '+989129870001',
    '09129870001',
    '9129870001',
    '00989129870001',
    '۰۹۱۲۹۸۷۰۰۰۱',
    '0912 987 0001',
    '0912-9870001',
    '0912-987-00-01',
    '+98 (912) 987 00 01',
    ' 0912.987.0001 ',
    '09 12 98 70 00 1',
  ])('a phone typed as %j is found, and signs its owner in', async (search) => {
    const phone = '+989129870001';
    const [ownerId = (await join(harness, { phone })).id] = await idsOf(operator, { search: phone });
    const { username } = (await harness.send('GET', `/users/${ownerId}`)).body.user;
    expect((await logIn(harness, search)).body.user.username).toBe(username);
    expect(await idsOf(operator, { search })).toEqual([ownerId]);
    expect(await idsOf(viewer, { search })).toEqual([]);
    const { body } = await list(operator, { search, page: 1 });
    expect(body.meta.total).toBe(1);
  });

  test('a search for a phone also finds texts that contain it as it is typed', async () => {
    const person = await join(harness, { email: '0912-987-0002@stack.example', username: '0x09129870002' });
    const owner = await join(harness, { phone: '+989129870002' });
    expect((await idsOf(operator, { search: '0912-987-0002' })).sort()).toEqual([person.id, owner.id]);
    expect((await idsOf(operator, { search: '09129870002' })).sort()).toEqual([person.id, owner.id]);
    expect(await idsOf(viewer, { search: '09129870002' })).toEqual([person.id]);
  });

  test('a search finds a changed username, but not the old one', async () => {
    const person = await join(harness, { username: 'before.change.x' });
    await harness.send('PUT', '/auth/me', { as: person.caller, body: { username: 'after.change.x' } });
    expect(await idsOf(viewer, { search: 'before.change' })).toEqual([]);
    expect(await idsOf(viewer, { search: 'after.change' })).toEqual([person.id]);
    const texts = await harness.database.collection('users_texts').find({ row: person.id }).toArray();
    const grams = texts.flatMap((text) => text.grams as string[]);
    expect(grams).toContain('aft');
    expect(grams).not.toContain('bef');
  });

  test('a search for white space does not filter', async () => {
    expect((await idsOf(viewer, { search: '  ', per_page: 2 })).length).toBe(2);
  });
});

describe('a list of users', () => {
  test('the list of users can be filtered by is_trainer', async () => {
    const name = `trainer${viewer.id}`;
    const trainer = await join(harness, { last_name: name });
    const other = await join(harness, { last_name: name });
    await harness.send('PUT', '/auth/me', { as: trainer.caller, body: { is_trainer: true } });
    expect(await idsOf(viewer, { search: name, is_trainer: 'true' })).toEqual([trainer.id]);
    expect(await idsOf(viewer, { search: name, is_trainer: '0' })).toEqual([other.id]);
  });

  test('the list of users can be ordered newest or oldest first', async () => {
    const name = `order${viewer.id}`;
    const ids: number[] = [];
    for (let index = 0; index < 3; index += 1) ids.push((await join(harness, { last_name: name })).id);
    expect(await idsOf(viewer, { search: name, order: 'ASC' })).toEqual(ids);
    expect(await idsOf(viewer, { search: name, order: 'DESC' })).toEqual([...ids].reverse());
    expect(await idsOf(viewer, { search: name })).toEqual([...ids].reverse());
  });

  test('filtering users by role requires users.view_all, and an unknown role is rejected with 422', async () => {
    expect(await idsOf(operator, { role: 'operator' })).toEqual([operator.id]);
    expect(await idsOf(operator, { role: 2 })).toEqual([operator.id]);
    for (const role of ['operator', 'emperor', 'x'.repeat(101)])
      expect((await list(viewer, { role })).status).toBe(403);
    expect((await list(viewer, { role: '' })).status).toBe(200);
    expect((await list(operator, { role: 'x'.repeat(101) })).status).toBe(422);
    const unknown = await list(operator, { role: 'emperor' });
    expect([unknown.status, Object.keys(unknown.body.errors)]).toEqual([422, ['role']]);
  });

  test('a list with an invalid parameter is rejected with 422 under its name', async () => {
    for (const [field, value] of [
      ['order', 'asc'],
      ['order', 'sideways'],
      ['is_trainer', 'maybe'],
      ['search', 'x'.repeat(256)],
      ['page', '0'],
      ['page', 'x'],
      ['per_page', '-1'],
      ['cursor', 'x'],
    ] as const) {
      const { status, body } = await list(viewer, { [field]: value });
      expect([field, value, status, Object.keys(body.errors)]).toEqual([field, value, 422, [field]]);
    }
  });
});

describe('pages', () => {
  test('pages by number and by cursor contain every row once, and a page past the end is empty', async () => {
    const name = `page${viewer.id}`;
    const ids: number[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift((await join(harness, { last_name: name })).id);
    const first = await list(viewer, { search: name, per_page: 2 });
    expect(first.body.meta).toMatchObject({
      current_page: 1,
      from: 1,
      to: 2,
      per_page: 2,
      last_page: 3,
      total: 5,
      path: 'http://api.test/api/v1/users',
    });
    const seen: number[] = first.body.data.map((row: Row) => row.id);
    for (let cursor = first.body.meta.next_cursor; cursor !== null; ) {
      const { body } = await list(viewer, { search: name, per_page: 2, cursor });
      seen.push(...body.data.map((row: Row) => row.id));
      cursor = body.meta.next_cursor;
    }
    expect(seen).toEqual(ids);
    expect(await idsOf(viewer, { search: name, per_page: 2, page: 3 })).toEqual(ids.slice(4));
    expect(await idsOf(viewer, { search: name, per_page: 2, page: 4 })).toEqual([]);
  });

  test('a page has at most 100 rows', async () => {
    expect((await list(viewer, { per_page: 1_000 })).body.meta.per_page).toBe(100);
    expect((await list(viewer)).body.meta.per_page).toBe(30);
  });
});

describe('an account with a pending deletion', () => {
  test('an account with a pending deletion is listed and counted only with users.view_all', async () => {
    const name = `pending${viewer.id}`;
    const person = await join(harness, { last_name: name });
    expect(await idsOf(viewer, { search: name })).toEqual([person.id]);
    await scheduleDeletion(person.id);
    const hidden = await list(viewer, { search: name });
    expect([hidden.body.data, hidden.body.meta.total]).toEqual([[], 0]);
    const shown = await list(operator, { search: name });
    expect(shown.body.data).toMatchObject([{ id: person.id, deletion_scheduled_at: expect.any(String) }]);
  });

  test('an account with a pending deletion is found by its id', async () => {
    const person = await join(harness);
    await scheduleDeletion(person.id);
    expect((await harness.send('GET', `/users/${person.id}`)).status).toBe(200);
  });
});

describe('GET /users/{id}', () => {
  test('a user is shown in full only to themselves and with users.view_all', async () => {
    const person = await join(harness);
    const get = (as?: Person) =>
      harness.send('GET', `/users/${person.id}`, as === undefined ? {} : { as: as.caller });
    for (const limited of [await get(), await get(viewer)]) {
      expect(limited.status).toBe(200);
      for (const field of LIMITED_ACCESS_FIELDS) expect(limited.body.user).not.toHaveProperty(field);
      expect(limited.body.user).toMatchObject({
        id: person.id,
        is_trainer: false,
        is_gym_owner: false,
        media: [],
      });
    }
    for (const whole of [await get(person), await get(operator)])
      expect(whole.body).toEqual({ user: person.user });
  });

  test('an erased, an unknown and a malformed id return the same 404', async () => {
    const person = await join(harness);
    await erase(person.id);
    const answers = await Promise.all(
      [person.id, 999_999_999, 'x', 0, '1e3', '-4'].map((id) =>
        harness.send('GET', `/users/${id}`, { as: operator.caller }),
      ),
    );
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.text}`))).toEqual(
      new Set(['404 {"message":"We could not find what you are looking for."}']),
    );
  });
});

describe('an erased account', () => {
  test('an erased account is in no list, and its username, email and phone are available again', async () => {
    const person = await join(harness);
    const { username, email, phone } = person.user;
    await erase(person.id);
    expect(await idsOf(operator, { search: username })).toEqual([]);
    const again = await join(harness, { username, email, phone });
    expect(again.id).toBeGreaterThan(person.id);
  });

  test('an erased account contains no personal data', async () => {
    const person = await join(harness, { first_name: 'Unforgettable' });
    await harness.send('PUT', '/auth/me', {
      as: person.caller,
      body: {
        height: 177,
        birth_date: '1991-01-01',
        bank_account_number: 'IR820540102680020817909002',
        is_trainer: true,
        current_password: PASSWORD,
      },
    });
    await erase(person.id);
    const tombstone = await harness.database.collection('users').findOne({ _id: person.id as never });
    const remaining = Object.entries(tombstone ?? {}).filter(
      ([, value]) => value !== null && value !== false && !(Array.isArray(value) && value.length === 0),
    );
    expect(remaining.map(([field]) => field).sort()).toEqual([
      '_id',
      'created_at',
      'credential_epoch',
      'erased_at',
      'pins',
      'standing',
      'tokens_issued',
      'version',
    ]);
    expect(await harness.database.collection('login_keys').countDocuments({ user_id: person.id })).toBe(0);
    expect(await harness.database.collection('users_texts').countDocuments({ row: person.id })).toBe(0);
  });
});
