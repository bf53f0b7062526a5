/** A purge that is killed at any step leaves nothing half done, and the next round completes it exactly once. */
import { fileURLToPath } from 'node:url';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type EventWatch, watchEvents } from './events.ts';
import {
  accountOf,
  addMember,
  makeDue,
  notificationsOf,
  openReplica,
  type Replica,
} from './purge-support.ts';
import { type Harness, startHarness } from './support.ts';

const PROGRAM = fileURLToPath(new URL('./purge-crash-process.ts', import.meta.url));

let harness: Harness;
let crashing: CrashTestProcess | undefined;
let replica: Replica;
let events: EventWatch;
beforeAll(async () => {
  harness = await startHarness();
  events = await watchEvents(harness);
  // The replica continues the work of the crash-test process, which uses the system clock.
  replica = await openReplica(harness.config, systemClock);
});
afterAll(async () => {
  await crashing?.kill();
  await events.close();
  await replica.close();
  await harness.close();
});

/** After `events.settled`: either the account is complete and no event was published, or it is erased and one was. */
const expectAllOrNothing = async (id: number): Promise<void> => {
  const account = await accountOf(harness, id);
  const seen = {
    erased: account?.erased_at !== null,
    anonymous: account?.username === null,
    keys: await harness.database.collection('login_keys').countDocuments({ user_id: id }),
    published: events.received(id).filter(({ type }) => type === 'identity.account.deleted').length,
  };
  expect(seen).toEqual(
    seen.erased
      ? { erased: true, anonymous: true, keys: 0, published: 1 }
      : { erased: false, anonymous: false, keys: 3, published: 0 },
  );
};

/** Adds an account for each step of a round, whose purge stops there. The round of the last account completes. */
const stopAtEveryStep = async (process: CrashTestProcess, mark: string, prepare: (id: number) => void) => {
  const ids: number[] = [];
  const stoppedAt: string[] = [];
  for (let nth = 1; ; nth += 1) {
    const id = await addMember(replica, `${mark}${nth}x`);
    ids.push(id);
    prepare(id);
    await makeDue(replica, id);
    const step = await process.ask<string | undefined>('purge', id, nth);
    if (step === undefined) return { ids, stoppedAt };
    stoppedAt.push(step);
  }
};

const purgeRemaining = () =>
  eventually(async () => {
    const { failed, erased, postponed } = await replica.purge();
    return failed === 0 && erased === 0 && postponed === 0;
  });

test('erasures and postponements that are killed at any step are completed exactly once', async () => {
  crashing = startCrashTestProcess(PROGRAM, harness.config);
  const erased = await stopAtEveryStep(crashing, 'erase', () => undefined);
  const postponed = await stopAtEveryStep(crashing, 'postpone', (userId) => {
    harness.standIns.blockers.push({ userId, code: 'gym_ownership', extras: { count: 1 } });
  });
  await crashing.kill();
  await events.settled();
  for (const id of [...erased.ids, ...postponed.ids]) await expectAllOrNothing(id);
  expect(erased.stoppedAt).toEqual([
    'blockers.evaluate',
    'begin',
    'users.erase',
    'codes.eraseAccount',
    'scores.eraseAccount',
    'tokens.eraseAccount',
    'notifications.eraseAccount',
    'idempotency.eraseAccount',
    'outbox.publish',
    'outbox.publish',
    'commit',
    'committed',
  ]);
  expect(postponed.stoppedAt).toEqual([
    'blockers.evaluate',
    'begin',
    'users.postponeDeletion',
    'users.touchIfLive',
    'notifications.insert',
    'commit',
    'committed',
  ]);
  await purgeRemaining();
  await events.settled();
  for (const id of erased.ids) {
    await expectAllOrNothing(id);
    expect((await accountOf(harness, id))?.erased_at).not.toBeNull();
  }
  for (const id of postponed.ids) {
    await expectAllOrNothing(id);
    expect(await notificationsOf(harness, id)).toHaveLength(1);
    expect((await accountOf(harness, id))?.deletion_scheduled_at.getTime()).toBeGreaterThan(
      systemClock.now().getTime(),
    );
  }
});
