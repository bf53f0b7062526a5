/** What this service asks its database: how much a redemption costs, and that an index finds what is asked for. */
import { DAY_MS, HOUR_MS } from '@fitness/shared/clock.ts';
import {
  type CommandWatch,
  exceptOnPrebuilt,
  FILL_TIMEOUT_MS,
  fillLike,
  roundTrips,
  type SentCommand,
  watchCommands,
} from '@fitness/shared/testing/commands.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buyPremium,
  grpcOf,
  newId,
  newToken,
  newUser,
  PREMIUM,
  publish,
  putPurchase,
  redeem,
  startWorld,
  unreachable,
  type World,
} from './support.ts';

const EXCEPTIONS = [
  ...exceptOnPrebuilt('it sorts what an index has found, also where the index is in that order', [
    'SORT: find refund_queue {"resolved_at":"?"} sort {"_id":-1} limit',
    'SORT: find refund_queue {"resolved_at":"?","_id":{"$lt":"?"}} sort {"_id":-1} limit',
  ]),
];

let world: World;
let watch: CommandWatch;
let grpc: ReturnType<typeof grpcOf>;
beforeAll(async () => {
  world = await startWorld({}, '2026-01-15T10:00:00Z', { monitored: true });
  watch = watchCommands(world.config.MONGODB_DATABASE, { exceptions: EXCEPTIONS });
  grpc = grpcOf(world.service);
  // The counters, the connections, and everything else that comes into being once.
  const skus = ['premium_plus', 'boost_basic', 'premium_plus', 'boost_basic'] as const;
  await Promise.all(skus.map((sku) => redeemFresh(sku)));
  await work['what is owed']?.();
  await work['buy-premium']?.();
  await world.service.idle();
  await fill();
}, FILL_TIMEOUT_MS);
afterAll(async () => {
  grpc.close();
  await world.close();
});

/** Copies of what the service itself has stored; nothing is ever due for them. */
const fill = async (): Promise<void> => {
  const never = new Date('2100-01-01T00:00:00Z');
  const idOf = (n: number): number => 1_000_000_000 + n;
  const due = (n: number): Date | null => (n % 2 === 0 ? null : never);
  const like = (collection: string, change: (n: number) => Record<string, unknown>): Promise<void> =>
    fillLike(world.database, collection, change);
  await like('subscriptions', (n) => ({ _id: idOf(n), user_id: idOf(n % 5_000) }));
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
    resolved_at: n % 100 === 0 ? null : new Date('2026-01-15T10:00:00Z'),
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
  world.targets.gyms.set(id, { user_id: userId, is_active: true });
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
  await putPurchase(world, token, 'purchased', sku);
  const fields = sku === 'premium_plus' ? {} : boostOf(user.userId);
  const { status } = await redeem(world.send, user, token, fields);
  return { user, token, status };
};

/** The relay has its own rhythm; it is no part of a request. */
const RELAY = ['relay_leases', 'outbox'];
const withoutRelay = (commands: readonly SentCommand[]): SentCommand[] =>
  commands.filter(({ collection, inTransaction }) => inTransaction || !RELAY.includes(collection));

const named = ({ name, collection, command }: SentCommand): string =>
  collection === 'sequences'
    ? `number of ${(command.query as { _id: string })._id}`
    : `${name} ${collection}`;

/** Those around the transaction, and its own. */
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
  ] as const)('%s: three round trips more than its transaction', async (sku, grants, grant) => {
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
    const asked = [
      'aggregate ',
      'update store_purchase_attempts',
      // While the journal is written.
      `number of ${grant}`,
      // Of both events; requests that come together share the question.
      'number of outbox',
    ];
    expect(around.map(named).sort()).toEqual(asked.sort());
    expect(roundTrips(around)).toBe(3);
    await world.service.idle();
  });

  test('the next one in the same slot: the same, with an update of the slot', async () => {
    const { user } = await redeemFresh('premium_plus');
    world.clock.advance(32 * DAY_MS);
    const sent = withoutRelay(await watch.during(() => redeemFresh('premium_plus', user)));
    const [, statements] = split(sent);
    expect(statements.map(named)).toEqual(
      inside('subscriptions').map((text) => text.replace('insert slots', 'update slots')),
    );
    await world.service.idle();
  });

  test('after the answer: two writes, the second when the store has taken the acknowledgement', async () => {
    const token = newToken();
    const sent = withoutRelay(
      await watch.during(async () => {
        await redeemFresh('premium_plus', newUser(), token);
        await world.service.idle();
      }),
    );
    const committed = sent.findIndex(({ name }) => name === 'commitTransaction');
    expect(sent.slice(committed + 1).map(named)).toEqual(['update refund_queue', 'update store_purchases']);
  });

  test('a replay: one question', async () => {
    for (const sku of ['premium_plus', 'boost_basic'] as const) {
      const { user, token } = await redeemFresh(sku);
      await world.service.idle();
      const fields = sku === 'premium_plus' ? {} : boostOf(user.userId);
      let status = 0;
      const sent = await watch.during(async () => {
        ({ status } = await redeem(world.send, user, token, fields));
      });
      expect([status, withoutRelay(sent).map(named)]).toEqual([200, ['aggregate ']]);
    }
  });
});

/** Everything that a request, a call, an event or a round asks. */
const work: Record<string, () => Promise<unknown>> = {
  'a redemption': () => redeemFresh('premium_plus'),
  'a redemption of a boost': () => redeemFresh('boost_basic'),
  'a replay': async () => {
    const { user, token } = await redeemFresh('premium_plus');
    await redeem(world.send, user, token);
  },
  'a refusal of a running subscription': async () => {
    const { user } = await redeemFresh('premium_plus');
    await redeemFresh('premium_plus', user);
  },
  'a refusal by the store': async () => {
    const token = newToken();
    await putPurchase(world, token, 'canceled');
    await redeem(world.send, newUser(), token);
  },
  'a redemption without verdict, verified later': async () => {
    const [token, user] = [newToken(), newUser()];
    await putPurchase(world, token, 'unreachable');
    await redeem(world.send, user, token);
    await putPurchase(world, token, 'purchased');
    world.clock.advance(20_000);
    await world.service.rounds.verifyAttempts();
  },
  'what is owed': async () => {
    const { user } = await redeemFresh('premium_plus');
    await redeemFresh('premium_plus', user);
    world.clock.advance(20_000);
    await world.service.rounds.verifyAttempts();
  },
  'the refund queue': async () => {
    const operator = () => caller(newId(), ['payments.view_all']);
    const path = '/payments/store-purchases/refund-queue';
    await world.send('GET', path, { as: operator() });
    const { body } = await world.send('GET', `${path}?per_page=1`, { as: operator() });
    const cursor = body.meta.next_cursor ?? '';
    await world.send('GET', `${path}?per_page=1&cursor=${cursor}`, { as: operator() });
    await world.send('GET', `${path}?page=2&per_page=1`, { as: operator() });
  },
  'buy-premium': async () => {
    const user = newUser();
    world.wallet.balances.set(user.userId, PREMIUM);
    await buyPremium(world.send, user, 'key');
    await buyPremium(world.send, user, 'key');
    await buyPremium(world.send, user, 'another key');
  },
  'a purchase from the wallet that is refused, lost, and taken over': async () => {
    await buyPremium(world.send, newUser());
    const user = newUser();
    world.wallet.balances.set(user.userId, PREMIUM);
    world.wallet.after = unreachable;
    await buyPremium(world.send, user, 'key');
    world.wallet.after = async () => undefined;
    world.clock.advance(HOUR_MS);
    await world.service.rounds.sweepWalletPurchases();
  },
  'the other rounds': async () => {
    await world.service.idle();
    world.clock.advance(DAY_MS);
    await world.service.rounds.acknowledgeAll();
    await world.service.rounds.lookAgain();
    world.clock.advance(30 * DAY_MS);
    await world.service.rounds.tellBoostEnds();
  },
  'a purchase that the store has taken back': async () => {
    const { token } = await redeemFresh('premium_plus');
    await world.service.idle();
    await putPurchase(world, token, 'refunded');
    world.clock.advance(DAY_MS);
    await world.service.rounds.lookAgain();
  },
  'what other services ask': async () => {
    await grpc.billing.call('GetSubscriptions', { user_ids: [1, 2, 3] });
    const targets = [
      { type: 'gym', id: 1 },
      { type: 'gym', id: 2 },
      { type: 'training_service', id: 1 },
    ];
    await grpc.billing.call('GetBoosts', { targets });
    await grpc.blockers.call('Evaluate', { user_id: 1, code: 'active_premium' });
  },
  'what other services tell': async () => {
    const { user } = await redeemFresh('premium_plus');
    const gymId = ownGym(user.userId);
    const told = [
      publish(world, 'gyms.gym.deleted', 'gyms', { gym_id: gymId }),
      publish(world, 'identity.account.deleted', 'identity', {
        user_id: user.userId,
        deleted_at: '2026-01-15 10:00:00',
      }),
    ];
    await Promise.all(told);
    const slots = world.database.collection<{ _id: string }>('slots');
    const closed = { _id: { $in: [`premium:${user.userId}`, `boost:gym:${gymId}`] }, closed: true };
    while ((await slots.countDocuments(closed)) < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  },
};

describe('an index finds, among 20,000, what is asked for by', () => {
  test.each(Object.entries(work))('%s', async (_name, ask) => {
    const sent = withoutRelay(await watch.during(ask));
    expect(sent.length).toBeGreaterThan(0);
    expect(await watch.faults(sent)).toEqual([]);
  });
});
