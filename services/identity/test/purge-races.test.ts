/** Cancelling against the purge: of the two, one happens, and the caller is told which. */
import { setTimeout as pause } from 'node:timers/promises';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPurgeAccounts } from '../src/app/purge-accounts.ts';
import type { DueAccount } from '../src/store/users.ts';
import { accountOf, addMember, eventsAbout, makeDue, openReplica, type Replica } from './purge-support.ts';
import { startWorld, type World } from './support.ts';

const RACES = 1_000;
const AT_ONCE = 25;

let world: World;
let replica: Replica;
beforeAll(async () => {
  world = await startWorld();
  replica = await openReplica(world.config, world.clock);
});
afterAll(async () => {
  await replica.close();
  await world.close();
});

/** A round over this one account. */
const purgeOf = (due: DueAccount) => {
  const { parts } = replica;
  const users = {
    ...parts.users,
    dueForDeletion: async function* () {
      yield due;
    },
  };
  const deliver = async () => undefined;
  return createPurgeAccounts({ ...parts, users, deliver })();
};

/** What the purge and the cancellation of one account said, and what is left of it. */
const race = async (number: number) => {
  const mark = `race${number}x`;
  const userId = await addMember(replica, mark);
  const scheduledAt = await makeDue(replica, userId);
  // The purge asks the blockers first; the head start is as long as that takes, more or less.
  const [round, cancelled] = await Promise.all([
    purgeOf({ userId, scheduledAt }),
    pause(number % 12).then(() => world.send('DELETE', '/auth/delete-account', { as: caller(userId) })),
  ]);
  const account = await accountOf(world, userId);
  return {
    purge: Object.entries(round).filter(([, n]) => n > 0),
    answer: cancelled.status,
    username: account?.username,
    phone: typeof account?.phone,
    pending: account?.deletion_scheduled_at !== null,
    keys: await world.database.collection('login_keys').countDocuments({ user_id: userId }),
    deleted: await eventsAbout(world, userId, 'identity.account.deleted'),
    restored: await eventsAbout(world, userId, 'identity.account.deletion_cancelled'),
    expected: `user.${mark}`,
  };
};

test('a thousand races: each account is either restored with all its data or erased, and the answer agrees', async () => {
  const seen = { erased: 0, restored: 0 };
  for (let first = 0; first < RACES; first += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, i) => first + i);
    for (const { expected, ...outcome } of await Promise.all(numbers.map(race))) {
      const erased = outcome.answer === 401;
      seen[erased ? 'erased' : 'restored'] += 1;
      expect(outcome).toEqual(
        erased
          ? {
              purge: [['erased', 1]],
              answer: 401,
              username: null,
              phone: 'undefined',
              pending: false,
              keys: 0,
              deleted: 1,
              restored: 0,
            }
          : {
              purge: [['not_due', 1]],
              answer: 200,
              username: expected,
              phone: 'string',
              pending: false,
              keys: 3,
              deleted: 0,
              restored: 1,
            },
      );
    }
  }
  expect(seen.erased + seen.restored).toBe(RACES);
  // Neither always comes first, or nothing has raced.
  expect(Math.min(seen.erased, seen.restored)).toBeGreaterThan(20);
}, 300_000);
