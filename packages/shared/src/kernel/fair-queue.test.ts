import { expect, test } from '@jest/globals';
import { createFairQueue } from './fair-queue.ts';

/** Calls that finish one by one, when `finishNext` is called; `log` has their names in the order of their starts. */
const fixture = (options: { maxRunning?: number; maxPerOwner?: number; maxWaiting?: number } = {}) => {
  const queue = createFairQueue({
    maxRunning: options.maxRunning ?? 1,
    ...(options.maxPerOwner === undefined ? {} : { maxPerOwner: options.maxPerOwner }),
    maxWaiting: () => options.maxWaiting ?? Number.POSITIVE_INFINITY,
    retryAfterMs: 1_500,
  });
  const log: string[] = [];
  const refused: string[] = [];
  const finish: (() => void)[] = [];
  const call = (name: string): void => {
    const work = (): Promise<void> => {
      log.push(name);
      return new Promise((resolve) => finish.push(resolve));
    };
    queue(name.charAt(0), work).catch((error: unknown) => {
      expect(error).toMatchObject({ kind: 'unavailable', retryAfterS: 2 });
      refused.push(name);
    });
  };
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const finishAll = async (): Promise<void> => {
    await settle();
    while (finish.length > 0) {
      finish.shift()?.();
      await settle();
    }
  };
  return { call, log, refused, settle, finishAll };
};

test('owners take turns; the calls of an owner keep their order', async () => {
  const { call, log, finishAll } = fixture();
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) call(name);
  await finishAll();
  expect(log).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('no more than the allowed number of calls run at a time', async () => {
  const { call, log, settle, finishAll } = fixture({ maxRunning: 2 });
  for (const name of ['a1', 'a2', 'a3', 'b1']) call(name);
  await settle();
  expect(log).toEqual(['a1', 'a2']);
  await finishAll();
  expect(log).toEqual(['a1', 'a2', 'a3', 'b1']);
});

test('an owner who fills the queue loses a place to a newcomer, whose call runs next but one', async () => {
  const { call, log, refused, finishAll } = fixture({ maxWaiting: 3 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1']) call(name);
  await finishAll();
  expect(refused).toEqual(['a5', 'a4']);
  expect(log).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('among owners with one waiting call, the most frequent is refused first, then the longest waiting', async () => {
  const { call, log, refused, settle, finishAll } = fixture({ maxWaiting: 2 });
  for (const name of ['a1', 'b1', 'c1', 'd1']) call(name);
  await settle();
  expect(refused).toEqual(['b1']);
  // This is the second call of its owner. Among owners with one call, c has waited longest.
  call('b2');
  await settle();
  expect(refused).toEqual(['b1', 'b2']);
  call('e1');
  await finishAll();
  expect([log, refused]).toEqual([
    ['a1', 'd1', 'e1'],
    ['b1', 'b2', 'c1'],
  ]);
});

test('owners who fill the queue and call again at each refusal do not keep out a newcomer', async () => {
  const maxWaiting = 20;
  const queue = createFairQueue({ maxRunning: 2, maxWaiting: () => maxWaiting });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  let calls = 0;
  let isOver = false;
  const attack = async (owner: string): Promise<void> => {
    while (!isOver) {
      calls += 1;
      await queue(owner, turn).catch(turn);
    }
  };
  const attackers = Array.from({ length: 2 * maxWaiting }, (_, index) => attack(`attacker ${index}`));
  while (calls < 20 * maxWaiting) await turn();
  let served = 0;
  for (let index = 0; index < 30; index += 1) {
    await queue(`newcomer ${index}`, async () => {
      served += 1;
    }).catch(() => undefined);
  }
  isOver = true;
  await Promise.all(attackers);
  expect(served).toBe(30);
});

test('a call that fails makes room for the next one', async () => {
  const queue = createFairQueue({ maxRunning: 1 });
  const failing = queue('a', async () => {
    throw new Error('failed');
  });
  const next = queue('b', async () => 'done');
  await expect(failing).rejects.toThrow('failed');
  expect(await next).toBe('done');
});

test('an owner with as many running calls as allowed waits, while others start', async () => {
  const { call, log, settle, finishAll } = fixture({ maxRunning: 2, maxPerOwner: 1 });
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) call(name);
  await settle();
  expect(log).toEqual(['a1', 'b1']);
  await finishAll();
  expect(log).toEqual(['a1', 'b1', 'a2', 'c1', 'a3']);
});

test('a call that waits too long is refused, and the next ones are run', async () => {
  const queue = createFairQueue({ maxRunning: 1, maxWaitMs: 20 });
  const end = Promise.withResolvers<void>();
  const running = queue('a', () => end.promise);
  await expect(queue('b', async () => 'late')).rejects.toMatchObject({ kind: 'unavailable' });
  end.resolve();
  await running;
  expect(await queue('b', async () => 'done')).toBe('done');
});
