/** The erasure journal contains exactly the committed erasures, whatever is killed, refused or repeated. */
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join as pathOf } from 'node:path';
import { type Clock, DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import type { Journal } from '@fitness/shared/kernel/journal.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Erasure } from '../src/domain/erasure.ts';
import { accountOf, addMember, makeDue, openReplica, type Replica } from './purge-support.ts';
import { type Harness, join, joinAs, startHarness } from './support.ts';

let harness: Harness;
let replica: Replica;
let directory: string;
beforeAll(async () => {
  harness = await startHarness();
  replica = await openReplica(harness.config, harness.clock);
  directory = pathOf(harness.config.JOURNAL_DIRECTORY, 'erasures');
});
afterAll(async () => {
  await replica.close();
  await harness.close();
});
beforeEach(async () => {
  for (const name of await readdir(directory)) await rm(pathOf(directory, name));
});

const LATER = 3 * MINUTE_MS;

/** Ids of the accounts in the journal's files by state. */
const inJournal = async (): Promise<{ begun: number[]; done: number[] }> => {
  const ids = { begun: [] as number[], done: [] as number[] };
  for (const name of (await readdir(directory)).sort()) {
    const [, id, state] = /^(\d+)-[\da-f-]{36}\.(begun|done)\.json$/.exec(name) ?? [];
    ids[state as 'begun' | 'done'].push(Number(id));
  }
  return ids;
};

test('the journal records erasures by operators and by the purge, with only ids and times', async () => {
  const operator = await joinAs(harness, 'operator');
  const person = await join(harness);
  const created = (await accountOf(harness, person.id))?.created_at as Date;
  const answer = await harness.send('DELETE', `/users/${person.id}`, { as: operator.caller });
  expect(answer.status).toBe(204);
  const due = await addMember(replica, 'due');
  await makeDue(replica, due);
  await replica.purge();
  expect(await inJournal()).toEqual({ begun: [], done: [person.id, due] });
  const [file = ''] = (await readdir(directory)).filter((name) => name.startsWith(`${person.id}-`));
  const text = await readFile(pathOf(directory, file), 'utf8');
  expect(JSON.parse(text)).toEqual({
    user_id: person.id,
    created_at: created.toISOString(),
    erased_at: (await accountOf(harness, person.id))?.erased_at.toISOString(),
    begun_at: harness.clock.now().toISOString(),
  });
  expect((await stat(pathOf(directory, file))).mode & 0o077).toBe(0);
});

test('three replicas that purge an account at the same time leave one done entry', async () => {
  const replicas = await Promise.all([1, 2].map(() => openReplica(harness.config, harness.clock)));
  const due = await addMember(replica, 'once');
  await makeDue(replica, due);
  await Promise.all([replica, ...replicas].map(({ purge }) => purge()));
  await Promise.all(replicas.map(({ close }) => close()));
  expect(await inJournal()).toEqual({ begun: [], done: [due] });
});

test('a refused erasure and a cancelled deletion leave no entry', async () => {
  const operator = await joinAs(harness, 'operator');
  const person = await join(harness);
  harness.standIns.blockers.push({ userId: person.id, code: 'gym_ownership', extras: { count: 1 } });
  const blocked = await harness.send('DELETE', `/users/${person.id}`, { as: operator.caller });
  harness.standIns.blockers.pop();
  expect(blocked.status).toBe(409);
  const { store } = replica.dependencies;
  const cancelled = await addMember(replica, 'cancelled');
  const date = await makeDue(replica, cancelled);
  await replica.useCases.cancelDeletion(cancelled);
  const erased = await store.transaction((session) =>
    replica.useCases.eraseAccount(session, cancelled, { dueOn: date }),
  );
  expect(erased).toBe(false);
  expect(await inJournal()).toEqual({ begun: [], done: [] });
});

test('nothing is erased without the journal', async () => {
  const due = await addMember(replica, 'nojournal');
  await makeDue(replica, due);
  const operator = await joinAs(harness, 'operator');
  const other = await join(harness);
  await rename(directory, `${directory}.gone`);
  try {
    expect(await replica.purge()).toMatchObject({ erased: 0, failed: 1 });
    const answer = await harness.send('DELETE', `/users/${other.id}`, { as: operator.caller });
    expect(answer.status).toBe(503);
  } finally {
    await rename(`${directory}.gone`, directory);
  }
  expect((await accountOf(harness, due))?.erased_at).toBeNull();
  expect((await accountOf(harness, other.id))?.erased_at).toBeNull();
  expect(await replica.purge()).toMatchObject({ erased: 1 });
});

/** A replica whose process dies after the entry was begun, either before or after the commit. */
const dyingReplica = (dies: 'before' | 'after'): Promise<Replica> =>
  openReplica(harness.config, harness.clock, (dependencies) => {
    const { erasureJournal } = dependencies;
    const dying: Journal<Erasure> = {
      ...erasureJournal,
      begin: async (subject, content) => {
        const entry = await erasureJournal.begin(subject, content);
        if (dies === 'before') throw new Error('killed before the commit');
        return { ...entry, markDone: async () => undefined };
      },
    };
    return { ...dependencies, erasureJournal: dying };
  });

test('a begun entry becomes done if the database has the erasure, and is withdrawn otherwise', async () => {
  const committed = await addMember(replica, 'committed');
  const aborted = await addMember(replica, 'aborted');
  for (const [id, dies] of [
    [committed, 'after'],
    [aborted, 'before'],
  ] as const) {
    await makeDue(replica, id);
    const dying = await dyingReplica(dies);
    await dying.purge();
    await dying.close();
  }
  await replica.useCases.cancelDeletion(aborted);
  expect(await inJournal()).toEqual({ begun: [committed, aborted], done: [] });
  // A transaction may still be open.
  expect(await replica.useCases.settleErasures()).toEqual({ done: 0, withdrawn: 0 });
  harness.clock.advance(LATER);
  // Not withdrawn yet: with a fast clock, another replica might be about to commit.
  expect(await replica.useCases.settleErasures()).toEqual({ done: 1, withdrawn: 0 });
  expect(await inJournal()).toEqual({ begun: [aborted], done: [committed] });
  harness.clock.advance(DAY_MS);
  expect(await replica.useCases.settleErasures()).toEqual({ done: 0, withdrawn: 1 });
  expect(await inJournal()).toEqual({ begun: [], done: [committed] });
  expect((await accountOf(harness, aborted))?.erased_at).toBeNull();
});

const aheadBy = (durationMs: number): Clock => ({
  now: () => new Date(harness.clock.now().getTime() + durationMs),
});

test.each([
  ['is three minutes ahead', () => openReplica(harness.config, aheadBy(LATER))],
  [
    'the sandbox has advanced by a month',
    () =>
      openReplica(harness.config, harness.clock, (dependencies) => ({
        ...dependencies,
        clock: aheadBy(30 * DAY_MS),
      })),
  ],
])('a replica whose clock %s withdraws no entry of a transaction that is still open', async (_case, open) => {
  const fast = await open();
  const settled: unknown[] = [];
  const slow = await openReplica(harness.config, harness.clock, (dependencies) => {
    const { erasureJournal } = dependencies;
    const begin: Journal<Erasure>['begin'] = async (subject, content) => {
      const entry = await erasureJournal.begin(subject, content);
      settled.push(await fast.useCases.settleErasures());
      return entry;
    };
    return { ...dependencies, erasureJournal: { ...erasureJournal, begin } };
  });
  const due = await addMember(replica, `open${await replica.dependencies.sequences.next('marks')}`);
  await makeDue(replica, due);
  expect(await slow.purge()).toMatchObject({ erased: 1 });
  await Promise.all([slow, fast].map(({ close }) => close()));
  expect(settled).toEqual([{ done: 0, withdrawn: 0 }]);
  expect(await inJournal()).toEqual({ begun: [], done: [due] });
});
