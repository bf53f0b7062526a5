/** What a frequent request may cost at most: database commands, and calls of other services. */
import { monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness(monitored({ MONGODB_URI: String(testConfig('wallet').MONGODB_URI) }));
});
afterAll(() => harness.close());

/** More than once: what the service does by itself may fall into one of the runs. */
const RUNS = 3;

test('the balance costs one command and no call', async () => {
  const caller = harness.person();
  await harness.give(caller.userId, 5_000);
  const show = async (): Promise<void> => {
    const { status, body } = await harness.send('GET', '/payments/balance', { as: caller });
    expect([status, body]).toEqual([200, { balance: 5_000 }]);
  };
  await show();
  const watch = watchCommands(harness.config.MONGODB_DATABASE);
  const before = harness.identityCalls();
  const runs: string[][] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const sent = await watch.during(show);
    runs.push(sent.map(({ name, collection }) => `${name} ${collection}`));
  }
  const [least] = runs.toSorted((one, other) => one.length - other.length);
  expect(least).toEqual(['find wallets']);
  expect(harness.identityCalls()).toBe(before);
});
