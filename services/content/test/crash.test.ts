import { fileURLToPath } from 'node:url';
import { ManualClock, MINUTE_MS, systemClock } from '@fitness/shared/clock.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import {
  apiClient,
  caller,
  dropDatabase,
  eventually,
  type Send,
  testConfig,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection } from 'mongoose';
import type { ContentConfig } from '../src/config.ts';
import { type RunningContent, startContent } from '../src/service.ts';
import { openWorld, type World } from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const BUYER = 3;
const SELLER = 2;
const PRICE = 1_000;
const BALANCE = 1_000_000;
const NEVER = new Promise<void>(() => undefined);

let crashing: CrashTestProcess | undefined;
let content: RunningContent | undefined;
let world: World;
let server: GrpcServer;
let config: ContentConfig;
let connection: Connection;

beforeAll(async () => {
  const opened = await openWorld();
  ({ world, server } = opened);
  config = {
    ...testConfig('content'),
    ...opened.addresses,
    LOG_LEVEL: 'silent',
    CONTENT_SWEEP_SECONDS: 3_600,
  };
  connection = await createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE }).asPromise();
});
afterAll(async () => {
  await connection.close();
  await server.close();
  await dropDatabase(config);
});
beforeEach(() => {
  world.before.clear();
  world.booked.clear();
  world.balance = BALANCE;
  world.beforeBookAnswer = async () => undefined;
});
afterEach(async () => {
  await crashing?.kill();
  await content?.close();
  content = undefined;
});

const kill = async (): Promise<void> => {
  await crashing?.kill();
  await NEVER;
};

/** What is committed is seen by others; a kill inside a transaction leaves what a kill before it leaves. */
const killWhenActive = async (): Promise<void> => {
  const active = () => connection.collection('trainees').findOne({ status: 'active' });
  await eventually(async () => (await active()) !== null, { intervalMs: 1 });
  await crashing?.kill();
};

/** Where the process dies, and whether the purchase was begun by then. */
const steps: { name: string; arm: () => void; begun: boolean }[] = [
  {
    name: 'before anything is stored',
    arm: () => void world.before.set('GetRates', kill),
    begun: false,
  },
  {
    name: 'when the pending trainee stands',
    arm: () => void world.before.set('GetHiddenUsers', kill),
    begun: true,
  },
  {
    name: 'before the wallet has booked',
    arm: () => void world.before.set('Book', kill),
    begun: true,
  },
  {
    name: 'between the booking and its answer',
    arm: () => {
      world.beforeBookAnswer = kill;
    },
    begun: true,
  },
  {
    name: 'when everything is committed, and perhaps not answered',
    arm: () => void killWhenActive(),
    begun: true,
  },
];

describe('SIGKILL in the middle of a purchase', () => {
  // A key of its own for each service: one that was spent on another is refused for a day, and a service does not forget.
  const buy = (send: Send, id: number) =>
    send('POST', `/training-services/${id}/purchase`, {
      as: caller(BUYER),
      headers: { 'idempotency-key': `crash-${id}` },
    });

  /** A purchase that dies at this step; answers the id of the service. */
  const die = async (arm: () => void): Promise<number> => {
    crashing = startCrashTestProcess(MAIN, { ...config, LOG_LEVEL: 'info' });
    const send = apiClient(await crashing.url());
    const made = await send('POST', '/training-services', {
      as: caller(SELLER),
      body: { title: 'Coaching', description: '', price: PRICE, duration_days: 30 },
    });
    expect(made.status).toBe(201);
    // What the step before has left is forgotten.
    for (const name of ['idempotency_keys', 'purchase_keys', 'trainees'])
      await connection.collection(name).deleteMany({});
    arm();
    await buy(send, made.body.data.id).catch(() => undefined);
    await crashing.gone;
    world.before.clear();
    world.beforeBookAnswer = async () => undefined;
    return made.body.data.id;
  };

  /** What stands of the purchases of a service, in both databases. */
  const outcome = async (id: number) => ({
    trainees: await connection
      .collection('trainees')
      .find({ training_service_id: id })
      .map(({ status }) => String(status))
      .toArray(),
    booked: world.booked.size,
    paid: BALANCE - world.balance,
  });

  const later = () => new ManualClock(new Date(systemClock.now().getTime() + 2 * MINUTE_MS));

  test.each(steps)(
    '$name: the next process finishes it or leaves nothing, and it is paid once',
    async (step) => {
      const id = await die(step.arm);
      content = await startContent(config, { clock: later() });
      await content.finishPurchases();
      const once = { trainees: ['active'], booked: 1, paid: PRICE };
      expect(await outcome(id)).toEqual(step.begun ? once : { trainees: [], booked: 0, paid: 0 });
      expect(await content.finishPurchases()).toBe(0);
      const again = await buy(apiClient(content.url), id);
      expect(again.status).toBe(201);
      expect(again.body.data).toMatchObject({ status: 'active', price: PRICE, training_service_id: id });
      expect(await outcome(id)).toEqual(once);
    },
  );

  test('the buyer repeats it beside the sweep: it is paid once', async () => {
    const id = await die(() => {
      world.beforeBookAnswer = kill;
    });
    const running = await startContent(config, { clock: later() });
    content = running;
    const send = apiClient(running.url);
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, () => buy(send, id))),
      Promise.all(Array.from({ length: 5 }, () => running.finishPurchases())),
    ]);
    for (const { status } of answers) expect([201, 409]).toContain(status);
    await eventually(async () => (await buy(send, id)).status === 201);
    expect(await outcome(id)).toEqual({ trainees: ['active'], booked: 1, paid: PRICE });
  });
});
