/** Data that older releases have stored is found, some of it after an upgrade (docs/adr/0014). */
import { NO_PROGRESS } from '@fitness/shared/kernel/progress.mjs';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { apiClient } from '@fitness/shared/testing/harness.ts';
import { removeNewerFields } from '@fitness/shared/testing/older-documents.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startIdentity } from '../src/service.ts';
import { userModel } from '../src/store/user-document.ts';
import { createUsers } from '../src/store/users.ts';
import { type Harness, join, joinAs, revocations, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const users = () => harness.database.collection<{ _id: number }>('users');
const texts = () => harness.database.collection('users_texts');
const erase = (id: number) =>
  inTransaction(harness.database, (session) =>
    createUsers(harness.database, revocations).erase(session, id, harness.clock.now()),
  );
/** Stores accounts as version 1.0.0 did, with the texts in the account. */
const storeAsBefore = async (ids: readonly number[]): Promise<void> => {
  const older = {
    search_text: 'جہاں',
    search_grams: ['ج'],
    search_all_text: 'جہاں',
    search_all_grams: ['ج'],
  };
  await users().updateMany({ _id: { $in: [...ids] } }, { $set: older });
  await texts().deleteMany({ row: { $in: [...ids] } });
};

test('accounts of 1.0.0 are found in every spelling, even after killed and concurrent upgrades', async () => {
  const operator = await joinAs(harness, 'operator');
  const person = await join(harness, { first_name: 'جہاں', last_name: 'چائے' });
  const erased = await join(harness, { first_name: 'جہاں', last_name: 'چائے' });
  const others = await Promise.all(Array.from({ length: 12 }, () => join(harness)));
  await erase(erased.id);
  const tombstone = await users().findOne({ _id: erased.id });
  await users().updateOne({ _id: erased.id }, { $set: { search_grams: [], search_all_grams: [] } });
  await storeAsBefore([person.id, ...others.map(({ id }) => id)]);
  for (const index of ['search_grams', 'search_all_grams']) await users().createIndex({ [index]: 1, _id: 1 });
  await harness.database.collection('upgrades').deleteMany({});
  const killed = createUsers(harness.database, revocations).reindex({
    expect: () => undefined,
    advance: () => {
      throw new Error('killed after a batch');
    },
  });
  await expect(killed).rejects.toThrow('killed');
  expect(await users().countDocuments({ search_grams: { $exists: true } })).toBeGreaterThan(0);

  const replicas = await Promise.all(
    [1, 2].map(() => startIdentity(harness.config, { clock: harness.clock })),
  );
  try {
    const send = apiClient('identity', replicas[0]?.url ?? '');
    for (const search of ['جهان چائی', 'جہاں']) {
      const answer = await send('GET', `/users?search=${encodeURIComponent(search)}`, {
        as: operator.caller,
      });
      expect(answer.body.data.map(({ id }: { id: number }) => id)).toEqual([person.id]);
    }
    expect(await users().findOne({ _id: erased.id })).toEqual(tombstone);
    expect(await texts().countDocuments({ row: erased.id })).toBe(0);
    for (const field of ['search_text', 'search_grams', 'search_all_text', 'search_all_grams'])
      expect(await users().countDocuments({ [field]: { $exists: true } })).toBe(0);
    expect(Object.keys(await users().indexInformation()).filter((name) => name.includes('search'))).toEqual(
      [],
    );
    expect(await createUsers(harness.database, revocations).reindex(NO_PROGRESS)).toBe(0);
  } finally {
    await Promise.all(replicas.map((replica) => replica.close()));
  }
});

test('an account that is erased while its texts are corrected leaves no texts', async () => {
  const people = await Promise.all(Array.from({ length: 8 }, () => join(harness)));
  const ids = people.map(({ id }) => id);
  await texts().deleteMany({ row: { $in: ids } });
  const corrected = createUsers(harness.database, revocations).reindex(NO_PROGRESS);
  for (const id of ids) await erase(id);
  await corrected;
  expect(await texts().countDocuments({ row: { $in: ids } })).toBe(0);
});

/** Fields that every release stored for each live account. A tombstone lacks some of them. */
const ALWAYS = [
  'username',
  'email',
  'phone',
  'password_hash',
  'first_name',
  'last_name',
  'created_at',
].concat(['referral_code', 'role_ids', 'version', 'erased_at', 'deletion_scheduled_at']);

test('accounts that are older than a field are shown and changed with its default', async () => {
  const person = await join(harness);
  await removeNewerFields(userModel(harness.database), ALWAYS);
  const shown = await harness.send('GET', '/auth/me', { as: person.caller });
  expect([shown.status, shown.body]).toEqual([200, { user: person.user }]);
  const body = { height: 180 };
  const changed = await harness.send('PUT', '/auth/me', { as: person.caller, body });
  expect(changed.body).toEqual({ user: { ...person.user, height: 180 } });
});
