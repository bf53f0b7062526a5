/** Cancelling against the purge, many times: of the two, one happens, and the caller is told which. */
import { setTimeout as pause } from 'node:timers/promises';
import { caller } from '@fitness/shared/testing/harness.ts';
import { expect } from '@jest/globals';
import { createPurgeAccounts } from '../src/app/purge-accounts.ts';
import type { DueAccount } from '../src/store/users.ts';
import { type EventWatch, watchEvents } from './events.ts';
import { accountOf, addDueMembers, openReplica, type Replica } from './purge-support.ts';
import { startWorld, type World } from './support.ts';

const AT_ONCE = 25;

let world: World;
let replica: Replica;
let events: EventWatch;
/** Rounds over this one account, until one is not left for the next: under load the database may let none through. */
const purgeOf = async (due: DueAccount) => {
  const { parts } = replica;
  const users = {
    ...parts.users,
    dueForDeletion: async function* () {
      yield due;
    },
  };
  const deliver = async () => undefined;
  const purge = createPurgeAccounts({ ...parts, users, deliver });
  for (;;) {
    const round = await purge();
    if (round.failed === 0) return round;
    await pause(100);
  }
};

/** 503 says that the database let nothing through and that nothing was changed: the same is asked again, as a client does. */
const cancelOf = async (userId: number) => {
  for (;;) {
    const answer = await world.send('DELETE', '/auth/delete-account', { as: caller(userId) });
    if (answer.status !== 503) return answer;
    await pause(100);
  }
};

/** What the purge and the cancellation of one account said, and what is left of it. */
const race = async ({ due, mark, delayMs }: { due: DueAccount; mark: string; delayMs: number }) => {
  const { userId } = due;
  // The purge asks the blockers first; the head start is as long as that takes, more or less.
  const [round, cancelled] = await Promise.all([purgeOf(due), pause(delayMs).then(() => cancelOf(userId))]);
  const account = await accountOf(world, userId);
  return {
    userId,
    purge: Object.entries(round).filter(([, n]) => n > 0),
    answer: cancelled.status,
    name: account?.username === null ? 'gone' : account?.username === `user.${mark}` ? 'there' : 'changed',
    phone: typeof account?.phone,
    pending: account?.deletion_scheduled_at !== null,
    keys: await world.database.collection('login_keys').countDocuments({ user_id: userId }),
  };
};

/** What is left after either outcome. */
const ERASED = {
  purge: [['erased', 1]],
  answer: 401,
  name: 'gone',
  phone: 'undefined',
  pending: false,
  keys: 0,
  told: ['identity.credentials.revoked', 'identity.account.deleted'],
};
const RESTORED = {
  purge: [['not_due', 1]],
  answer: 200,
  name: 'there',
  phone: 'string',
  pending: false,
  keys: 3,
  told: ['identity.account.deletion_cancelled'],
};

/** Plays `races` of them, {@link AT_ONCE} at a time, and checks what is left of each account. */
export const playRaces = async (races: number): Promise<void> => {
  world = await startWorld();
  events = await watchEvents(world);
  replica = await openReplica(world.config, world.clock);
  try {
    const outcomes: Awaited<ReturnType<typeof race>>[] = [];
    for (let first = 0; first < races; first += AT_ONCE) {
      const marks = Array.from({ length: AT_ONCE }, (_, i) => `race${first + i}x`);
      const accounts = await addDueMembers(replica, marks);
      const begun = accounts.map((due, i) => race({ due, mark: marks[i] ?? '', delayMs: i % 12 }));
      outcomes.push(...(await Promise.all(begun)));
    }
    await events.settled();
    for (const { userId, ...outcome } of outcomes) {
      const told = events.seen(userId).map(({ type }) => type);
      expect({ ...outcome, told }).toEqual(outcome.answer === ERASED.answer ? ERASED : RESTORED);
    }
    const erased = outcomes.filter(({ answer }) => answer === ERASED.answer).length;
    // Neither always comes first, or nothing has raced.
    expect(Math.min(erased, races - erased)).toBeGreaterThan(races / 50);
  } finally {
    await events.close();
    await replica.close();
    await world.close();
  }
};
