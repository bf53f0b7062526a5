/** A purge that is killed, at whatever step: nothing is half done, and the next round does it exactly once. */
import { fileURLToPath } from 'node:url';
import { systemClock } from '@fitness/shared/clock.ts';
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
import { startWorld, type World } from './support.ts';

const PROGRAM = fileURLToPath(new URL('./purge-crash-process.ts', import.meta.url));

let world: World;
let crashing: CrashTestProcess | undefined;
let replica: Replica;
let events: EventWatch;
beforeAll(async () => {
  world = await startWorld();
  events = await watchEvents(world);
  // The killed process runs by the system's clock, and so does the one that comes after it.
  replica = await openReplica(world.config, systemClock);
});
afterAll(async () => {
  await crashing?.kill();
  await events.close();
  await replica.close();
  await world.close();
});

/** Everything of the account is there, and nobody was told; or nothing is, and the others were told once. */
const expectNothingHalf = async (id: number): Promise<void> => {
  const account = await accountOf(world, id);
  const seen = {
    erased: account?.erased_at !== null,
    nameless: account?.username === null,
    keys: await world.database.collection('login_keys').countDocuments({ user_id: id }),
    told: (await events.about(id)).filter(({ type }) => type === 'identity.account.deleted').length,
  };
  expect(seen).toEqual(
    seen.erased
      ? { erased: true, nameless: true, keys: 0, told: 1 }
      : { erased: false, nameless: false, keys: 3, told: 0 },
  );
};

/** One account for each step that a round has: its round stops there. The last account's round gets through. */
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

const finishTheRest = () =>
  eventually(async () => {
    const { failed, erased, postponed } = await replica.purge();
    return failed === 0 && erased === 0 && postponed === 0;
  });

test('killed at every step of an erasure and of a postponement: each is done once in the end, and told once', async () => {
  crashing = startCrashTestProcess(PROGRAM, world.config);
  const erased = await stopAtEveryStep(crashing, 'erase', () => undefined);
  const postponed = await stopAtEveryStep(crashing, 'postpone', (userId) => {
    world.outside.blockers.push({ userId, code: 'gym_ownership', extras: { count: 1 } });
  });
  await crashing.kill();
  for (const id of [...erased.ids, ...postponed.ids]) await expectNothingHalf(id);
  expect(erased.stoppedAt).toEqual([
    'blockers.evaluate',
    'begin',
    'users.erase',
    'tokens.revokeAll',
    'codes.forget',
    'notifications.deleteOf',
    'scores.forget',
    'idempotency.forgetUser',
    'outbox.emit',
    'outbox.emit',
    'commit',
    'committed',
  ]);
  expect(postponed.stoppedAt).toEqual([
    'blockers.evaluate',
    'begin',
    'users.postponeDeletion',
    'users.pin',
    'notifications.insert',
    'commit',
    'committed',
  ]);
  await finishTheRest();
  for (const id of erased.ids) {
    await expectNothingHalf(id);
    expect((await accountOf(world, id))?.erased_at).not.toBeNull();
  }
  for (const id of postponed.ids) {
    await expectNothingHalf(id);
    expect(await notificationsOf(world, id)).toHaveLength(1);
    expect((await accountOf(world, id))?.deletion_scheduled_at.getTime()).toBeGreaterThan(
      systemClock.now().getTime(),
    );
  }
});
