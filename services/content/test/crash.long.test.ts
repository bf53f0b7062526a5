import { fileURLToPath } from 'node:url';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { MINUTE_MS, SECOND_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import {
  apiClient,
  caller,
  dropDatabase,
  eventually,
  type Send,
  testConfig,
} from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection } from 'mongoose';
import type { ContentConfig } from '../src/config.ts';
import { type RunningContent, startContent } from '../src/service.ts';
import { openStandIns, type StandIns } from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const BUYER = 3;
const SELLER = 2;
const PRICE = 1_000;
const BALANCE = 1_000_000;
const NEVER = new Promise<void>(() => undefined);

let crashing: CrashTestProcess | undefined;
let content: RunningContent | undefined;
let standIns: StandIns;
let server: GrpcServer;
let config: ContentConfig;
let connection: Connection;

beforeAll(async () => {
  const opened = await openStandIns();
  ({ standIns, server } = opened);
  config = {
    ...testConfig('content'),
    ...opened.addresses,
    LOG_LEVEL: 'silent',
    CONTENT_SWEEP_SECONDS: 3_600,
    LIST_CACHE_MIB: 64,
  };
  connection = await createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE }).asPromise();
});
afterAll(async () => {
  await connection.close();
  await server.close();
  await dropDatabase(config);
});
beforeEach(() => {
  leaveSessions = false;
  standIns.before.clear();
  standIns.booked.clear();
  standIns.balance = BALANCE;
  standIns.beforeBookAnswer = async () => undefined;
});
afterEach(async () => {
  await crashing?.kill();
  await content?.close();
  content = undefined;
});

/** Whether the killed process leaves its transactions open. */
let leaveSessions = false;

const kill = async (): Promise<void> => {
  await crashing?.kill({ leaveSessions });
  await NEVER;
};

/** Waits for the commit, because a kill inside the transaction leaves the same state as a kill before it. */
const killWhenActive = async (): Promise<void> => {
  const active = () => connection.collection('trainees').findOne({ status: 'active' });
  await eventually(async () => (await active()) !== null, { intervalMs: 1 });
  await crashing?.kill({ leaveSessions });
};

/** Where the process is killed, and whether the purchase was claimed by then. */
const steps: { name: string; arm: () => void; isClaimed: boolean }[] = [
  {
    name: 'before anything is stored',
    arm: () => void standIns.before.set('GetRates', kill),
    isClaimed: false,
  },
  {
    name: 'after the pending trainee is inserted',
    arm: () => void standIns.before.set('GetHiddenUsers', kill),
    isClaimed: true,
  },
  {
    name: 'before the wallet books',
    arm: () => void standIns.before.set('Book', kill),
    isClaimed: true,
  },
  {
    name: 'between the booking and its response',
    arm: () => {
      standIns.beforeBookAnswer = kill;
    },
    isClaimed: true,
  },
  {
    name: 'after the commit, perhaps before the response',
    arm: () => void killWhenActive(),
    isClaimed: true,
  },
];

describe('SIGKILL during a purchase', () => {
  // One key per training service, because a key that was used for another request is refused for 24 hours.
  const buy = (send: Send, id: number) =>
    send('POST', `/training-services/${id}/purchase`, {
      as: caller(BUYER),
      headers: { 'idempotency-key': `crash-${id}` },
    });

  /** Starts a purchase that is killed at this step, and returns the id of the training service. */
  const die = async (arm: () => void): Promise<number> => {
    crashing = startCrashTestProcess(MAIN, { ...config, LOG_LEVEL: 'info' });
    const send = apiClient('content', await crashing.url());
    const made = await send('POST', '/training-services', {
      as: caller(SELLER),
      body: { title: 'Coaching', description: '', price: PRICE, duration_days: 30 },
    });
    expect(made.status).toBe(201);
    // Removes what the previous test left.
    for (const name of ['idempotency_keys', 'purchase_keys', 'trainees'])
      await connection.collection(name).deleteMany({});
    arm();
    await buy(send, made.body.data.id).catch(() => undefined);
    await crashing.gone;
    standIns.before.clear();
    standIns.beforeBookAnswer = async () => undefined;
    return made.body.data.id;
  };

  /** The purchases of a training service, in this service and in the wallet. */
  const outcome = async (id: number) => ({
    trainees: await connection
      .collection('trainees')
      .find({ training_service_id: id })
      .map(({ status }) => String(status))
      .toArray(),
    booked: standIns.booked.size,
    paid: BALANCE - standIns.balance,
  });

  const later = () => new ManualClock(new Date(systemClock.now().getTime() + 2 * MINUTE_MS));

  test.each(steps)(
    'a process killed $name leaves a purchase that the next one finishes once, or nothing',
    async (step) => {
      const id = await die(step.arm);
      content = await startContent(config, { clock: later() });
      await content.finishPurchases();
      const once = { trainees: ['active'], booked: 1, paid: PRICE };
      expect(await outcome(id)).toEqual(step.isClaimed ? once : { trainees: [], booked: 0, paid: 0 });
      expect(await content.finishPurchases()).toBe(0);
      const again = await buy(apiClient('content', content.url), id);
      expect(again.status).toBe(201);
      expect(again.body.data).toMatchObject({ status: 'active', price: PRICE, training_service_id: id });
      expect(await outcome(id)).toEqual(once);
    },
  );

  // One step only, because each waits for the lease of the key.
  // store-billing/test/repeat-after-death.long.test.ts covers all commands.
  test.each(steps.filter(({ name }) => name === 'between the booking and its response'))(
    'after a kill $name, a repeated request gets the purchase within 30 s, paid once',
    async (step) => {
      leaveSessions = true;
      const id = await die(step.arm);
      content = await startContent(config);
      const send = apiClient('content', content.url);
      const startedAt = performance.now();
      await eventually(
        async () => {
          const again = await buy(send, id);
          if (again.status === 201) return true;
          expect([409, 503]).toContain(again.status);
          expect(Number(again.headers.get('retry-after'))).toBeGreaterThan(0);
          return false;
        },
        { intervalMs: SECOND_MS, timeoutMs: MINUTE_MS },
      );
      // The limit for a server whose transaction lifetime cannot be set.
      expect(performance.now() - startedAt).toBeLessThan(30 * SECOND_MS);
      expect(await outcome(id)).toEqual({ trainees: ['active'], booked: 1, paid: PRICE });
    },
  );

  test('a purchase that is repeated during the sweep is paid once', async () => {
    const id = await die(() => {
      standIns.beforeBookAnswer = kill;
    });
    const running = await startContent(config, { clock: later() });
    content = running;
    const send = apiClient('content', running.url);
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, () => buy(send, id))),
      Promise.all(Array.from({ length: 5 }, () => running.finishPurchases())),
    ]);
    for (const { status } of answers) expect([201, 409]).toContain(status);
    await eventually(async () => (await buy(send, id)).status === 201);
    expect(await outcome(id)).toEqual({ trainees: ['active'], booked: 1, paid: PRICE });
  });
});
