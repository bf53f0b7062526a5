import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { standIn, standInService, testClient } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createSubscriptionReader, type SubscriptionReader } from '../src/subscription.ts';

/** The most users that a call of store-billing may name. */
const MAX_IDS = 200;
const at = '2026-01-01 00:00:00';

let storeBilling: GrpcServer;
let client: GrpcClient<ReturnType<typeof grpcDefinitions.storeBilling>>;
let reader: SubscriptionReader;
/** The ids of each call. */
let calls: number[][] = [];

beforeAll(async () => {
  storeBilling = await standIn(
    standInService(grpcDefinitions.storeBilling(), {
      GetSubscriptions: async ({ user_ids: ids }) => {
        calls.push(ids);
        const times = { starts_at: at, expires_at: at, created_at: at };
        return { subscriptions: ids.map((id) => ({ id: id * 10, user_id: id, type: 'plus', ...times })) };
      },
    }),
  );
  client = testClient('store-billing', grpcDefinitions.storeBilling(), storeBilling.address);
  reader = createSubscriptionReader(client, createLog({ service: 'test', level: 'silent' }));
});
beforeEach(() => {
  calls = [];
});
afterAll(async () => {
  client.close();
  await storeBilling.close();
});

const show = (id: number) => reader.show(id, undefined, { now: new Date() });

test('requests in one tick of the event loop share a call, and each finds its own user', async () => {
  const [one, two, same] = await Promise.all([1, 2, 1].map(show));
  expect(calls).toEqual([[1, 2]]);
  expect([one, two, same]).toMatchObject([{ id: 10 }, { id: 20 }, { id: 10 }]);
});

test('a call never names more users than store-billing accepts', async () => {
  const ids = Array.from({ length: 450 }, (_, index) => index + 1);
  const results = await Promise.all(ids.map(show));
  expect(calls.map((asked) => asked.length)).toEqual([MAX_IDS, MAX_IDS, 50]);
  expect(results.map((subscription) => subscription?.user_id)).toEqual(ids);
});
