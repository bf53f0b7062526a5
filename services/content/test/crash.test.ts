import { type ChildProcess, spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ManualClock, MINUTE_MS, systemClock } from '@fitness/shared/clock.ts';
import { apiClient, caller, dropDatabase, eventually, testConfig } from '@fitness/shared/testing/harness.ts';
import { afterEach, expect, test } from '@jest/globals';
import type { ContentConfig } from '../src/config.ts';
import { startContent } from '../src/service.ts';
import { openWorld } from './support.ts';

const MAIN = join(dirname(fileURLToPath(import.meta.url)), '../src/main.ts');
const BUYER = 3;
const SELLER = 2;

let child: ChildProcess | undefined;
afterEach(() => {
  child?.kill('SIGKILL');
});

/** A content service in a process of its own; resolves with its address. */
const startProcess = (config: ContentConfig): Promise<string> => {
  const env = Object.fromEntries(Object.entries(config).map(([name, value]) => [name, String(value)]));
  const started = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env.PATH, ...env, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  return new Promise((resolve, reject) => {
    started.once('exit', (code) => reject(new Error(`it ended with ${code}`)));
    let output = '';
    started.stdout.on('data', (chunk) => {
      output += String(chunk);
      const url = /"url":"(http:[^"]+)"/.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
};

test('killed between the wallet’s booking and its answer: the next process finishes the sale, booked once', async () => {
  const { world, server, addresses } = await openWorld();
  const config: ContentConfig = {
    ...testConfig('content'),
    ...addresses,
    LOG_LEVEL: 'silent',
    CONTENT_SWEEP_SECONDS: 3_600,
  };
  const send = apiClient(await startProcess(config));
  const made = await send('POST', '/training-services', {
    as: caller(SELLER),
    body: { title: 'Coaching', description: '', price: 1_000, duration_days: 30 },
  });
  expect(made.status).toBe(201);
  world.beforeBookAnswer = () => new Promise(() => undefined);
  const lost = send('POST', `/training-services/${made.body.data.id}/purchase`, { as: caller(BUYER) });
  const broken = expect(lost).rejects.toThrow();
  await eventually(() => world.booked.size === 1);
  child?.kill('SIGKILL');
  await broken;

  world.beforeBookAnswer = async () => undefined;
  const later = new ManualClock(new Date(systemClock.now().getTime() + MINUTE_MS));
  const content = await startContent(config, { clock: later });
  try {
    const trainees = () => apiClient(content.url)('GET', '/trainees', { as: caller(BUYER) });
    expect((await trainees()).body.data).toEqual([]);
    expect(await content.finishPurchases()).toBe(1);
    const { body } = await trainees();
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({ status: 'active', seller_user_id: SELLER, price: 1_000 });
    expect(world.booked.size).toBe(1);
    expect(await content.finishPurchases()).toBe(0);
  } finally {
    await content.close();
    await server.close();
    await dropDatabase(config);
  }
});
