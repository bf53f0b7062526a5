/** A purge that is killed, at whatever step: nothing is half done, and the next round does it exactly once. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '@fitness/shared/clock.ts';
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
  VICTIM,
} from './purge-support.ts';
import { startWorld, type World } from './support.ts';

let world: World;
let replica: Replica;
let events: EventWatch;
beforeAll(async () => {
  world = await startWorld();
  events = await watchEvents(world);
  // The killed process runs by the system's clock, and so does the one that comes after it.
  replica = await openReplica(world.config, systemClock);
});
afterAll(async () => {
  await events.close();
  await replica.close();
  await world.close();
}, 120_000);

/** A round over one account in a process of its own, which dies at step `diesAt`; the steps that it came to. */
const runVictim = async (userId: number, diesAt: number) => {
  const child = spawn(process.execPath, [VICTIM], {
    env: {
      PATH: process.env.PATH,
      VICTIM_CONFIG: JSON.stringify(world.config),
      VICTIM_ACCOUNT: String(userId),
      VICTIM_DIES_AT: String(diesAt),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  const [code, signal] = await once(child, 'close');
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`the victim ended with ${code ?? signal}`);
  return { steps: Buffer.concat(said).toString().trim().split('\n'), finished: code === 0 };
};

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

/** One account for each step that a round has: it is killed there. The last account's round gets through. */
const killAtEveryStep = async (mark: string, prepare: (id: number) => void) => {
  const ids: number[] = [];
  const killedAt: string[] = [];
  for (let diesAt = 1; ; diesAt += 1) {
    const id = await addMember(replica, `${mark}${diesAt}x`);
    ids.push(id);
    prepare(id);
    await makeDue(replica, id);
    const { steps, finished } = await runVictim(id, diesAt);
    await expectNothingHalf(id);
    if (finished) return { ids, killedAt };
    killedAt.push(steps.at(-1) ?? '');
  }
};

/** The database keeps what a dead process's transaction had locked for up to a minute: until then rounds fail. */
const finishTheRest = () =>
  eventually(
    async () => {
      const { failed, erased, postponed } = await replica.purge();
      return failed === 0 && erased === 0 && postponed === 0;
    },
    { timeoutMs: 200_000, intervalMs: 500 },
  );

test('killed at every step of an erasure and of a postponement: each is done once in the end, and told once', async () => {
  const erased = await killAtEveryStep('erase', () => undefined);
  const postponed = await killAtEveryStep('postpone', (userId) => {
    world.outside.blockers.push({ userId, code: 'gym_ownership', extras: { count: 1 } });
  });
  expect(erased.killedAt).toEqual([
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
  expect(postponed.killedAt).toEqual([
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
}, 600_000);
