/** The database commands of a redemption, and the use of indexes by all queries. */
import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { DAY_MS, HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { type CommandWatch, roundTrips, watchCommands } from '@fitness/shared/testing/commands.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import type { SentCommand } from '@fitness/shared/testing/lookups.ts';
import { exceptOnPrebuilt } from '@fitness/shared/testing/query-plans.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SHARDS } from './shards.ts';
import {
  buyPremium,
  grpcOf,
  type Harness,
  newId,
  newToken,
  newUser,
  PREMIUM,
  publish,
  putPurchase,
  redeem,
  startHarness,
  unreachable,
} from './support.ts';

const EXCEPTIONS = [
  ...exceptOnPrebuilt('it sorts the rows of an index, even if the index is in that order', [
    'SORT: find refund_queue {"resolved_at":"?"} sort {"_id":-1} limit',
    'SORT: find refund_queue {"resolved_at":"?","_id":{"$lt":"?"}} sort {"_id":-1} limit',
    'SORT: aggregate refund_queue {"channel":"?","look_due_at":{"$lte":"?"}} sort {"look_due_at":1}',
    'SORT: aggregate store_purchase_attempts {"channel":"?","next_check_at":{"$lte":"?"}} sort {"next_check_at":1}',
    'SORT: aggregate store_purchases {"channel":"?","acknowledge_due_at":{"$lte":"?"}} sort {"acknowledge_due_at":1}',
    'SORT: aggregate store_purchases {"channel":"?","look_due_at":{"$lte":"?"}} sort {"look_due_at":1}',
  ]),
];

let harness: Harness;
let watch: CommandWatch;
let grpc: ReturnType<typeof grpcOf>;
beforeAll(async () => {
  harness = await startHarness({}, '2126-01-15T10:00:00Z', { monitored: true });
  watch = watchCommands(harness.config.MONGODB_DATABASE, { exceptions: EXCEPTIONS, shards: SHARDS });
  grpc = grpcOf(harness.service);
  // Creates the counters, the connections and everything else that is created once.
  const skus = ['premium_plus', 'boost_basic', 'premium_plus', 'boost_basic'] as const;
  await Promise.all(skus.map((sku) => redeemFresh(sku)));
  await work['a refund in the queue']?.();
  await work['buy-premium']?.();
  await harness.service.idle();
  await fill();
});
afterAll(async () => {
  grpc.close();
  await harness.close();
});

/** Copies of documents that the service has stored, with no job due. */
const fill = async (): Promise<void> => {
  const never = new Date('2200-01-01T00:00:00Z');
  const idOf = (n: number): number => 1_000_000_000 + n;
  const due = (n: number): Date | null => (n % 2 === 0 ? null : never);
  const like = (collection: string, change: (n: number) => Record<string, unknown>): Promise<void> =>
    fillLike(harness.database, collection, change);
  await like('subscriptions', (n) => ({
    _id: idOf(n),
    user_id: idOf(n % 5_000),
    expiry_notice_due_at: due(n),
  }));
  await like('boosts', (n) => ({
    _id: idOf(n),
    target: `gym:${idOf(n % 5_000)}`,
    boostable_id: idOf(n % 5_000),
    end_due_at: due(n),
  }));
  await like('slots', (n) => ({ _id: `premium:${idOf(n)}` }));
  await like('store_purchases', (n) => ({
    _id: `google_play:${idOf(n)}`,
    number: idOf(n),
    purchase_token: String(idOf(n)),
    user_premium_subscription_id: idOf(n),
    marketing_boost_id: null,
    acknowledge_due_at: due(n),
    look_due_at: due(n),
  }));
  await like('store_purchase_attempts', (n) => ({ _id: String(idOf(n)), next_check_at: due(n) }));
  await like('refund_queue', (n) => ({
    _id: idOf(n),
    owed_for: n % 100 === 0 ? `google_play:${idOf(n)}` : null,
    purchase_key: `google_play:${idOf(n)}`,
    user_id: idOf(n),
    resolved_at: n % 100 === 0 ? null : new Date('2126-01-15T10:00:00Z'),
    look_due_at: due(n),
  }));
  await like('wallet_purchases', (n) => ({
    _id: String(idOf(n)),
    user_id: idOf(n % 5_000),
    state: 'granted',
    lease_until: due(n),
  }));
};

const ownGym = (userId: number): number => {
  const id = newId();
  harness.targets.gyms.set(id, { user_id: userId, is_active: true });
  return id;
};
const boostOf = (userId: number) => ({
  product_id: 'boost_basic',
  boostable_type: 'gym',
  boostable_id: ownGym(userId),
});
const redeemFresh = async (
  sku: 'premium_plus' | 'boost_basic',
  user = newUser(),
  token = newToken(),
): Promise<{ user: typeof user; token: string; status: number }> => {
  await putPurchase(harness, token, 'purchased', sku);
  const fields = sku === 'premium_plus' ? {} : boostOf(user.userId);
  const { status } = await redeem(harness.send, user, token, fields);
  return { user, token, status };
};

/** The outbox relay runs independently of requests. */
const RELAY = ['relay_leases', 'outbox'];
const withoutRelay = (commands: readonly SentCommand[]): SentCommand[] =>
  commands.filter(({ collection, inTransaction }) => inTransaction || !RELAY.includes(collection));

const named = ({ name, collection, command }: SentCommand): string =>
  collection === 'sequences'
    ? `number of ${(command.query as { _id: string })._id}`
    : `${name} ${collection}`;

/** Commands outside and inside the transaction. */
const split = (commands: readonly SentCommand[]): [SentCommand[], SentCommand[]] => [
  commands.filter(({ inTransaction }) => !inTransaction),
  commands.filter(({ inTransaction }) => inTransaction),
];

describe('a redemption costs', () => {
  const inside = (grants: string) => [
    'update store_purchase_attempts',
    'insert store_purchases',
    'insert slots',
    `insert ${grants}`,
    'insert outbox',
    'commitTransaction ',
  ];

  test.each([
    ['premium_plus', 'subscriptions', 'subscription'],
    ['boost_basic', 'boosts', 'boost'],
  ] as const)(
    'a redemption of %s costs three round trips more than its transaction',
    async (sku, grants, grant) => {
      const token = newToken();
      let status = 0;
      const sent = withoutRelay(
        await watch.during(async () => {
          ({ status } = await redeemFresh(sku, newUser(), token));
        }),
      );
      expect(status).toBe(201);
      const answered = sent.findIndex(({ name }) => name === 'commitTransaction') + 1;
      const [around, statements] = split(sent.slice(0, answered));
      expect(statements.map(named)).toEqual(inside(grants));
      const expected = [
        'aggregate ',
        'update store_purchase_attempts',
        // Concurrent with the update of the journal.
        `number of ${grant}`,
        'find refund_queue',
        // For both events. Concurrent requests share it.
        'number of outbox',
      ];
      expect(around.map(named).sort()).toEqual(expected.sort());
      expect(roundTrips(around)).toBe(3);
      await harness.service.idle();
    },
  );

  test('another redemption in the same slot costs the same, with an update of the slot', async () => {
    const { user } = await redeemFresh('premium_plus');
    harness.clock.advance(32 * DAY_MS);
    const sent = withoutRelay(await watch.during(() => redeemFresh('premium_plus', user)));
    const [, statements] = split(sent);
    expect(statements.map(named)).toEqual(
      inside('subscriptions').map((text) => text.replace('insert slots', 'update slots')),
    );
    await harness.service.idle();
  });

  test('a redemption sends two writes after the response, the second after the acknowledgement', async () => {
    const token = newToken();
    const sent = withoutRelay(
      await watch.during(async () => {
        await redeemFresh('premium_plus', newUser(), token);
        await harness.service.idle();
      }),
    );
    const committed = sent.findIndex(({ name }) => name === 'commitTransaction');
    expect(sent.slice(committed + 1).map(named)).toEqual(['update refund_queue', 'update store_purchases']);
  });

  test('a replay costs one query', async () => {
    for (const sku of ['premium_plus', 'boost_basic'] as const) {
      const { user, token } = await redeemFresh(sku);
      await harness.service.idle();
      const fields = sku === 'premium_plus' ? {} : boostOf(user.userId);
      let status = 0;
      const sent = await watch.during(async () => {
        ({ status } = await redeem(harness.send, user, token, fields));
      });
      expect([status, withoutRelay(sent).map(named)]).toEqual([200, ['aggregate ']]);
    }
  });
});

/** Every request, gRPC call, event and job. */
const work: Record<string, () => Promise<unknown>> = {
  'a redemption': () => redeemFresh('premium_plus'),
  'a redemption of a boost': () => redeemFresh('boost_basic'),
  'a replay': async () => {
    const { user, token } = await redeemFresh('premium_plus');
    await redeem(harness.send, user, token);
  },
  'a refusal of a running subscription': async () => {
    const { user } = await redeemFresh('premium_plus');
    await redeemFresh('premium_plus', user);
  },
  'a refusal by the store': async () => {
    const token = newToken();
    await putPurchase(harness, token, 'canceled');
    await redeem(harness.send, newUser(), token);
  },
  'a redemption without verdict, verified later': async () => {
    const [token, user] = [newToken(), newUser()];
    await putPurchase(harness, token, 'unreachable');
    await redeem(harness.send, user, token);
    await putPurchase(harness, token, 'purchased');
    harness.clock.advance(20_000);
    await harness.service.rounds.verifyAttempts();
  },
  'a refund in the queue': async () => {
    const { user } = await redeemFresh('premium_plus');
    await redeemFresh('premium_plus', user);
    harness.clock.advance(20_000);
    await harness.service.rounds.verifyAttempts();
  },
  'the refund queue': async () => {
    const operator = () => caller(newId(), ['payments.view_all']);
    const path = '/payments/store-purchases/refund-queue';
    await harness.send('GET', path, { as: operator() });
    const { body } = await harness.send('GET', `${path}?per_page=1`, { as: operator() });
    const cursor = body.meta.next_cursor ?? '';
    await harness.send('GET', `${path}?per_page=1&cursor=${cursor}`, { as: operator() });
    await harness.send('GET', `${path}?page=2&per_page=1`, { as: operator() });
    await harness.send('GET', `${path}?user_id=${body.data[0]?.user_id ?? 1}`, { as: operator() });
  },
  'refunds that an operator resolves': async () => {
    const { user } = await redeemFresh('premium_plus');
    for (let each = 0; each < 2; each += 1) await redeemFresh('premium_plus', user);
    harness.clock.advance(20_000);
    await harness.service.rounds.verifyAttempts();
    const operator = caller(newId(), ['payments.view_all', 'payments.resolve_disputes']);
    const path = '/payments/store-purchases/refund-queue';
    const { body } = await harness.send('GET', path, { as: operator });
    harness.clock.advance(32 * DAY_MS);
    for (const [index, outcome] of ['refunded', 'granted'].entries())
      await harness.send('POST', `${path}/${body.data[index].id}/resolve`, {
        as: operator,
        body: { outcome, note: 'A note' },
      });
    await harness.service.idle();
  },
  'buy-premium': async () => {
    const user = newUser();
    harness.wallet.balances.set(user.userId, PREMIUM);
    await buyPremium(harness.send, user, 'key');
    await buyPremium(harness.send, user, 'key');
    await buyPremium(harness.send, user, 'another key');
  },
  'a wallet purchase that is refused, and one that is taken over': async () => {
    await buyPremium(harness.send, newUser());
    const user = newUser();
    harness.wallet.balances.set(user.userId, PREMIUM);
    harness.wallet.after = unreachable;
    await buyPremium(harness.send, user, 'key');
    harness.wallet.after = async () => undefined;
    harness.clock.advance(HOUR_MS);
    await harness.service.rounds.sweepWalletPurchases();
  },
  'the other jobs': async () => {
    await harness.service.idle();
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.acknowledgePurchases();
    await harness.service.rounds.reconcileRefunds();
    const { user } = await redeemFresh('premium_plus');
    harness.clock.advance(30 * DAY_MS);
    await harness.service.rounds.publishBoostEnds();
    await harness.service.rounds.announceExpiringSubscriptions();
    const announced = { user_id: user.userId, expiry_notice_due_at: null };
    expect(await harness.database.collection('subscriptions').countDocuments(announced)).toBe(1);
  },
  'a purchase that the store has refunded': async () => {
    const { token } = await redeemFresh('premium_plus');
    await harness.service.idle();
    await putPurchase(harness, token, 'refunded');
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.reconcileRefunds();
  },
  'gRPC calls': async () => {
    await grpc.billing.call('GetSubscriptions', { user_ids: [1, 2, 3] });
    const targets = [
      { type: 'gym', id: 1 },
      { type: 'gym', id: 2 },
      { type: 'training_service', id: 1 },
    ];
    await grpc.billing.call('GetBoosts', { targets });
    await grpc.blockers.call('Evaluate', { user_id: 1, code: 'active_premium' });
  },
  events: async () => {
    const { user } = await redeemFresh('premium_plus');
    const gymId = ownGym(user.userId);
    const published = [
      publish(harness, gymDeleted, { gym_id: gymId }),
      publish(harness, accountDeleted, {
        user_id: user.userId,
        deleted_at: '2126-01-15 10:00:00',
      }),
    ];
    await Promise.all(published);
    const slots = harness.database.collection<{ _id: string }>('slots');
    const closed = { _id: { $in: [`premium:${user.userId}`, `boost:gym:${gymId}`] }, closed: true };
    while ((await slots.countDocuments(closed)) < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  },
};

describe('an index is used, among 20,000 documents, by', () => {
  test.each(Object.entries(work))('%s uses an index for every query', async (_name, ask) => {
    const sent = withoutRelay(await watch.during(ask));
    expect(sent.length).toBeGreaterThan(0);
    expect(await watch.faults(sent)).toEqual([]);
  });
});

test('each listed scatter query is sent by one of these commands', () => {
  expect(watch.unusedScatters()).toEqual([]);
});
