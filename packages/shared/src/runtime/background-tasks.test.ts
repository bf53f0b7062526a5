import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createLog } from '../kernel/log.ts';
import { createBackgroundTasks } from './background-tasks.ts';

const start = () => {
  const lines: string[] = [];
  const log = createLog({ service: 'test', destination: { write: (line) => void lines.push(line) } });
  return { tasks: createBackgroundTasks(log), lines };
};

test('idle awaits every running task, including tasks that are started meanwhile', async () => {
  const { tasks } = start();
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const ended: string[] = [];
  tasks.run('first', async () => {
    await first.promise;
    tasks.run('second', () => second.promise.then(() => ended.push('second')));
    ended.push('first');
  });
  const idle = tasks.idle().then(() => ended.push('idle'));
  first.resolve();
  // After every callback that the end of the first task has queued.
  await setImmediate();
  second.resolve();
  await idle;
  expect(ended).toEqual(['first', 'second', 'idle']);
});

test('a failed task is logged with its name, and neither its start nor idle fails', async () => {
  const { tasks, lines } = start();
  tasks.run('acknowledge', () => Promise.reject(new Error('the store is down')));
  await tasks.idle();
  tasks.run('compute', () => {
    throw new Error('before the first await');
  });
  await tasks.idle();
  expect(lines.map((line) => JSON.parse(line).task)).toEqual(['acknowledge', 'compute']);
});
