/** Races between a cancellation and the purge. Exactly one of them takes effect, and the response says which. */
import { setTimeout as pause } from 'node:timers/promises';
import { caller } from '@fitness/shared/testing/harness.ts';
import { expect } from '@jest/globals';
import { createEraseAccount } from '../src/app/deletion/erase-account.ts';
import { createPurgeAccounts } from '../src/app/deletion/purge-accounts.ts';
import type { DueAccount } from '../src/store/users.ts';
import { type EventWatch, watchEvents } from './events.ts';
import { accountOf, addDueMembers, openReplica, type Replica } from './purge-support.ts';
import { type Harness, startHarness } from './support.ts';

const CONCURRENT_RACES = 25;

let harness: Harness;
let replica: Replica;
let events: EventWatch;
/** Repeats rounds over this account while they fail, because the database may reject transactions under load. */
const purgeOf = async (due: DueAccount) => {
  const { dependencies } = replica;
  const users = {
    ...dependencies.store.users,
    dueForDeletion: async function* () {
      yield due;
    },
  };
  const deliverNotification = async () => undefined;
  const purge = createPurgeAccounts({
    ...dependencies,
    store: { ...dependencies.store, users },
    eraseAccount: createEraseAccount(dependencies),
    deliverNotification,
  });
  for (;;) {
    const round = await purge();
    if (round.failed === 0) return round;
    await pause(100);
  }
};

/** Repeats the request after a 503, as a client would, because nothing was changed. */
const cancelOf = async (userId: number) => {
  for (;;) {
    const answer = await harness.send('DELETE', '/auth/delete-account', { as: caller(userId) });
    if (answer.status !== 503) return answer;
    await pause(100);
  }
};

/** Returns the results of the purge and the cancellation, and what is left of the account. */
const race = async ({ due, mark, delayMs }: { due: DueAccount; mark: string; delayMs: number }) => {
  const { userId } = due;
  // The purge evaluates the blockers first, so the cancellation is delayed by about that time.
  const [round, cancelled] = await Promise.all([purgeOf(due), pause(delayMs).then(() => cancelOf(userId))]);
  const account = await accountOf(harness, userId);
  return {
    userId,
    purge: Object.entries(round).filter(([, n]) => n > 0),
    answer: cancelled.status,
    name:
      account?.username === null ? 'erased' : account?.username === `user.${mark}` ? 'unchanged' : 'changed',
    phone: typeof account?.phone,
    pending: account?.deletion_scheduled_at !== null,
    keys: await harness.database.collection('login_keys').countDocuments({ user_id: userId }),
  };
};

const ERASED = {
  purge: [['erased', 1]],
  answer: 401,
  name: 'erased',
  phone: 'undefined',
  pending: false,
  keys: 0,
  published: ['identity.credentials.revoked', 'identity.account.deleted'],
};
const RESTORED = {
  purge: [['not_due', 1]],
  answer: 200,
  name: 'unchanged',
  phone: 'string',
  pending: false,
  keys: 3,
  published: ['identity.account.deletion_cancelled'],
};

/** Runs `races` races, {@link CONCURRENT_RACES} at a time, and checks what is left of each account. */
export const runRaces = async (races: number): Promise<void> => {
  harness = await startHarness();
  events = await watchEvents(harness);
  replica = await openReplica(harness.config, harness.clock);
  try {
    const outcomes: Awaited<ReturnType<typeof race>>[] = [];
    const erased = (): number => outcomes.filter(({ answer }) => answer === ERASED.answer).length;
    /** Whether both sides have won some races. Which one wins depends on the speed of the machine. */
    const haveRaced = (): boolean => Math.min(erased(), outcomes.length - erased()) > races / 50;
    for (let first = 0; first < races || (!haveRaced() && first < 5 * races); first += CONCURRENT_RACES) {
      const marks = Array.from({ length: CONCURRENT_RACES }, (_, i) => `race${first + i}x`);
      const accounts = await addDueMembers(replica, marks);
      const running = accounts.map((due, i) => race({ due, mark: marks[i] ?? '', delayMs: i % 12 }));
      outcomes.push(...(await Promise.all(running)));
    }
    await events.settled();
    for (const { userId, ...outcome } of outcomes) {
      const published = events.received(userId).map(({ type }) => type);
      expect({ ...outcome, published }).toEqual(outcome.answer === ERASED.answer ? ERASED : RESTORED);
    }
    expect(haveRaced()).toBe(true);
  } finally {
    await events.close();
    await replica.close();
    await harness.close();
  }
};
