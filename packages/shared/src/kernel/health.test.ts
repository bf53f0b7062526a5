import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { createHealth } from './health.ts';

const fine = async (): Promise<void> => undefined;
const broken = (): Promise<never> => Promise.reject(new Error('connection to db-7 refused'));

afterEach(() => {
  jest.useRealTimers();
});

describe('readiness', () => {
  test('readiness names each dependency with its state and latency, without the error', async () => {
    const health = createHealth();
    health.markStarted();
    health.add('mongodb', fine);
    health.add('redis', broken, { required: false });
    const readiness = await health.readiness();
    expect(readiness).toEqual({
      status: 'ready',
      dependencies: {
        mongodb: { state: 'up', latency_ms: expect.any(Number), required: true },
        redis: { state: 'down', latency_ms: expect.any(Number), required: false },
      },
    });
    expect(JSON.stringify(readiness)).not.toContain('db-7');
  });

  test('readiness follows the state of a required dependency', async () => {
    const health = createHealth();
    health.markStarted();
    let up = false;
    health.add('mongodb', () => (up ? fine() : broken()));
    expect((await health.readiness()).status).toBe('not_ready');
    up = true;
    expect((await health.readiness()).status).toBe('ready');
  });

  test('a process is ready from the end of its start until its shutdown begins', async () => {
    const health = createHealth();
    health.add('mongodb', fine);
    expect((await health.readiness()).status).toBe('not_ready');
    health.markStarted();
    expect((await health.readiness()).status).toBe('ready');
    health.markStopping();
    expect((await health.readiness()).status).toBe('not_ready');
  });

  test('an unresponsive dependency is down, and all dependencies are checked concurrently', async () => {
    const health = createHealth();
    health.markStarted();
    const silent = (): Promise<never> => new Promise(() => undefined);
    for (const name of ['a', 'b', 'c']) health.add(name, silent);
    health.add('throws at once', () => {
      throw new Error('not even a promise');
    });
    jest.useFakeTimers();
    const answer = health.readiness();
    await jest.advanceTimersByTimeAsync(2_000);
    // With real timers, a second wait would outlast the test.
    jest.useRealTimers();
    const { dependencies } = await answer;
    expect(Object.values(dependencies).map(({ state }) => state)).toEqual(Array(4).fill('down'));
  });
});
