/** The copies of subscriptions, which accounts show when store-billing does not respond. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { subscriptionEnded, subscriptionStarted } from '@fitness/proto/events/store-billing.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { environmentOf } from '@fitness/shared/testing/crash.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openPublisher, type Publisher } from './events.ts';
import {
  type Harness,
  join,
  joinAs,
  newAddress,
  PASSWORD,
  type Person,
  SUBSCRIBED,
  startHarness,
} from './support.ts';

const REBUILD = fileURLToPath(new URL('../src/rebuild-cli.ts', import.meta.url));

let harness: Harness;
let publisher: Publisher;
let person: Person;
beforeAll(async () => {
  harness = await startHarness();
  publisher = await openPublisher(harness);
});
afterAll(async () => {
  await publisher.close();
  await harness.close();
});
beforeEach(async () => {
  person = await join(harness);
  harness.standIns.subscriptions = [];
  harness.standIns.whileReadingSubscriptions = undefined;
});

const fail = async (): Promise<void> => {
  throw new Error('out of order');
};
/** Never answers: the call ends at its deadline. */
const hang = (): Promise<void> => new Promise(() => undefined);

/** Times in days from now. */
const subscription = (id: number, startsIn: number, expiresIn: number) => {
  const at = (days: number) => formatTimestamp(new Date(harness.clock.now().getTime() + days * DAY_MS));
  return { ...ofPerson(id), starts_at: at(startsIn), expires_at: at(expiresIn) };
};
const ofPerson = (id: number) => ({ subscription_id: id, user_id: person.id, type: 'plus' });
const resourceOf = ({ subscription_id, starts_at, ...rest }: ReturnType<typeof subscription>) => ({
  ...{ id: subscription_id, starts_at, created_at: starts_at },
  ...rest,
});

const users = () =>
  harness.database.collection<{ _id: number; subscription?: { id: number; version: number } | null }>(
    'users',
  );
const stored = async () => {
  return (await users().findOne({ _id: person.id }))?.subscription;
};
/** Makes the account one of a release that stored no copies. */
const removeCopy = () => users().updateOne({ _id: person.id }, { $unset: { subscription: '' } });
const publish = async (
  definition: typeof subscriptionStarted,
  data: ReturnType<typeof subscription>,
  version: number,
): Promise<string> => {
  const id = randomUUID();
  const subject = `subscription-${data.subscription_id}`;
  await publisher.publish(definition, data, { id, subject, aggregateVersion: version });
  return id;
};
/** Resolves when the event `id` has had its effect. */
const handled = (id: string) =>
  eventually(async () => (await harness.database.collection('inbox').countDocuments({ eventId: id })) > 0);
const untilStored = (id: number, version: number) =>
  eventually(async () => {
    const copy = await stored();
    return copy?.id === id && copy.version === version;
  });
const current = async () =>
  (await harness.send('GET', '/auth/me', { as: person.caller })).body.user.current_subscription;

test.each([
  ['is slow', hang],
  ['is down', fail],
])(
  'a running subscription is shown to its user and to others while store-billing %s',
  async (_how, state) => {
    const running = subscription(81, -1, 30);
    await publish(subscriptionStarted, running, 1);
    await untilStored(81, 1);
    harness.standIns.whileReadingSubscriptions = state;
    const login = { login: person.user.username, password: PASSWORD };
    const answers = [
      await harness.send('GET', '/auth/me', { as: person.caller }),
      await harness.send('POST', '/auth/login', { body: login, headers: newAddress() }),
      await harness.send('GET', `/users/${person.id}`),
    ];
    for (const { status, body } of answers)
      expect([status, body.user.current_subscription]).toEqual([200, resourceOf(running)]);
  },
);

test('what store-billing answers is shown, even if no event has arrived yet', async () => {
  harness.standIns.subscriptions = [{ id: 82, userId: person.id }];
  expect(await current()).toMatchObject({ id: 82, ...SUBSCRIBED });
  await publish(subscriptionStarted, subscription(82, -1, 30), 1);
  await untilStored(82, 1);
  harness.standIns.subscriptions = [];
  expect(await current()).toBeNull();
});

test('a list shows the copy without a call', async () => {
  const operator = await joinAs(harness, 'operator');
  const running = subscription(83, -1, 30);
  await publish(subscriptionStarted, running, 1);
  await untilStored(83, 1);
  harness.standIns.calls.subscriptions = 0;
  const path = `/users?search=${person.user.username}`;
  const { body } = await harness.send('GET', path, { as: operator.caller });
  expect(body.data[0].current_subscription).toEqual(resourceOf(running));
  expect(harness.standIns.calls.subscriptions).toBe(0);
});

test('an account of an older release is shown with the response of store-billing, or not at all', async () => {
  const operator = await joinAs(harness, 'operator');
  await removeCopy();
  const login = { login: person.user.username, password: PASSWORD };
  const shown = async () => {
    const list = await harness.send('GET', `/users?search=${person.user.username}`, { as: operator.caller });
    const single = [
      await harness.send('GET', '/auth/me', { as: person.caller }),
      await harness.send('POST', '/auth/login', { body: login, headers: newAddress() }),
      await harness.send('GET', `/users/${person.id}`),
    ];
    return [
      [list.status, list.body.data?.[0].current_subscription],
      ...single.map(({ status, body }) => [status, body.user?.current_subscription]),
    ];
  };
  const all = (status: number, subscription: unknown) => Array(4).fill([status, subscription]);
  expect(await shown()).toEqual(all(200, null));
  harness.standIns.subscriptions = [{ id: 87, userId: person.id }];
  expect(await shown()).toEqual(all(200, expect.objectContaining({ id: 87, ...SUBSCRIBED })));
  harness.standIns.whileReadingSubscriptions = fail;
  expect(await shown()).toEqual(all(503, undefined));
  person = await join(harness);
  // A new account has had no subscription.
  expect(await current()).toBeNull();
});

test('a subscription that was refunded or has expired is not shown', async () => {
  harness.standIns.whileReadingSubscriptions = fail;
  await publish(subscriptionStarted, subscription(84, -1, 30), 1);
  await untilStored(84, 1);
  expect(await current()).toMatchObject({ id: 84 });
  await publish(subscriptionEnded, subscription(84, -1, 0), 2);
  await untilStored(84, 2);
  expect(await current()).toBeNull();
  await publish(subscriptionStarted, subscription(85, 0, 1), 1);
  await untilStored(85, 1);
  expect(await current()).toMatchObject({ id: 85 });
  harness.clock.advance(DAY_MS + 1_000);
  expect(await current()).toBeNull();
});

test('the newest state is kept in whatever order the events arrive', async () => {
  const events = [
    { definition: subscriptionStarted, data: subscription(91, -9, 21), version: 1 },
    { definition: subscriptionEnded, data: subscription(91, -9, -8), version: 3 },
    { definition: subscriptionStarted, data: subscription(90, -7, 23), version: 1 },
    { definition: subscriptionEnded, data: subscription(90, -7, -6), version: 2 },
  ] as const;
  const orders = [
    [0, 1, 2, 3],
    [3, 2, 1, 0],
    [2, 0, 3, 1],
    [1, 3, 0, 2],
  ];
  for (const order of orders) {
    person = await join(harness);
    for (const event of order.flatMap((index) => events[index] ?? [])) {
      const data = { ...event.data, user_id: person.id };
      await handled(await publish(event.definition, data, event.version));
    }
    expect([order, await stored()]).toEqual([order, expect.objectContaining({ id: 90, version: 2 })]);
  }
});

test('an erased account neither keeps nor receives a copy', async () => {
  const operator = await joinAs(harness, 'operator');
  await publish(subscriptionStarted, subscription(86, -1, 30), 1);
  await untilStored(86, 1);
  expect((await harness.send('DELETE', `/users/${person.id}`, { as: operator.caller })).status).toBe(204);
  expect(await stored()).toBeUndefined();
  await handled(await publish(subscriptionEnded, subscription(86, -1, 0), 2));
  expect(await stored()).toBeUndefined();
});

const rebuild = async (): Promise<void> => {
  const child = spawn(process.execPath, [REBUILD], {
    env: environmentOf(harness.config),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.resume();
  expect(await once(child, 'exit')).toEqual([0, null]);
};

test('the rebuild keeps a copy that an event stores while store-billing is asked', async () => {
  await removeCopy();
  const running = subscription(92, -1, 30);
  harness.standIns.whileReadingSubscriptions = async () => {
    await publish(subscriptionStarted, running, 1);
    await untilStored(92, 1);
  };
  await rebuild();
  expect(await stored()).toMatchObject({ id: 92, version: 1 });
});

test('the rebuild adds missing copies, including that there is none, and ends wrong ones', async () => {
  await removeCopy();
  const without = person;
  person = await join(harness);
  await removeCopy();
  const missing = person;
  person = await join(harness);
  const untold = subscription(88, -1, 30);
  await publish(subscriptionStarted, untold, 4);
  await untilStored(88, 4);
  harness.standIns.subscriptions = [{ id: 89, userId: missing.id }];
  await rebuild();
  harness.standIns.whileReadingSubscriptions = fail;
  expect(await current()).toBeNull();
  // A late repetition does not revive it.
  await handled(await publish(subscriptionStarted, untold, 4));
  expect(await current()).toBeNull();
  person = without;
  expect(await current()).toBeNull();
  person = missing;
  expect(await current()).toMatchObject({ id: 89, ...SUBSCRIBED });
  await publish(subscriptionEnded, subscription(89, -400, 0), 2);
  await untilStored(89, 2);
  expect(await current()).toBeNull();
});
