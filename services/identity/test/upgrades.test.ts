/** What older releases have stored is found after an upgrade (docs/adr/0014). */
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { apiClient } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startIdentity } from '../src/service.ts';
import { createUsers } from '../src/store/users.ts';
import { type Harness, join, joinAs, revocations, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

test('accounts whose names an older release has folded are found in every spelling, and erased ones stay without them', async () => {
  const operator = await joinAs(harness, 'operator');
  const person = await join(harness, { first_name: 'جہاں', last_name: 'چائے' });
  const erased = await join(harness, { first_name: 'جہاں', last_name: 'چائے' });
  await inTransaction(harness.database, (session) =>
    createUsers(harness.database, revocations).erase(session, erased.id, harness.clock.now()),
  );
  const users = harness.database.collection<{ _id: number }>('users');
  const tombstone = await users.findOne({ _id: erased.id });
  const old = { search_text: 'جہاں', search_grams: ['ج'], search_all_text: 'جہاں', search_all_grams: ['ج'] };
  await users.updateOne({ _id: person.id }, { $set: old });
  await harness.database.collection('upgrades').deleteMany({});
  const replica = await startIdentity(harness.config, { clock: harness.clock });
  try {
    const send = apiClient('identity', replica.url);
    for (const search of ['جهان چائی', 'جہاں']) {
      const answer = await send('GET', `/users?search=${encodeURIComponent(search)}`, {
        as: operator.caller,
      });
      expect(answer.body.data.map(({ id }: { id: number }) => id)).toEqual([person.id]);
    }
    expect(await users.findOne({ _id: erased.id })).toEqual(tombstone);
  } finally {
    await replica.close();
  }
});
