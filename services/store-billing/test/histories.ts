/** Property test: the rules of specification 4.6 hold for random concurrent presentations. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Answer, Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  buyPremium,
  count,
  type Harness,
  newId,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startHarness,
  storeCalls,
} from './support.ts';

/** Printed in the title; set REDEMPTION_SEED for other runs. */
const SEED = Number(process.env.REDEMPTION_SEED ?? 20_260_115);
/** Each replica has its own limit of ten requests per user. */
const LIMIT = 10;
const TWO_USERS = 2;

let harness: Harness;
let clients: Send[] = [];
/** Started for the first history that needs it. */
let late: Awaited<ReturnType<Harness['replica']>> | undefined;

/** Only states in which the store responds, so every 500 is a bug of this service. */
type StoreState = 'purchased' | 'canceled' | 'pending' | 'garbage';

interface Presentation {
  user: number;
  token: number;
  /** Delay after the start of the history. */
  afterMs: number;
}

interface History {
  sku: 'premium_plus' | 'boost_basic';
  /** The state of each token at the store. */
  states: StoreState[];
  presentations: Presentation[];
  /** Concurrent purchases of the same product from the wallet, by the first user. */
  walletPurchases: number;
}

const historyOf = (maxLength: number): fc.Arbitrary<History> =>
  fc
    .array(fc.constantFrom<StoreState>('purchased', 'purchased', 'canceled', 'pending', 'garbage'), {
      minLength: 1,
      maxLength: 3,
    })
    .chain((states) =>
      fc.record({
        sku: fc.constantFrom<History['sku']>('premium_plus', 'boost_basic'),
        states: fc.constant(states),
        presentations: fc.array(
          fc.record({
            user: fc.nat({ max: TWO_USERS - 1 }),
            token: fc.nat({ max: states.length - 1 }),
            afterMs: fc.nat({ max: 40 }),
          }),
          { minLength: 2, maxLength, size: 'max' },
        ),
        walletPurchases: fc.nat({ max: 3 }),
      }),
    );

interface Answered extends Presentation {
  answer: Answer;
}

/** The users, the target and the tokens of one history. */
const createFixture = async ({ sku, states }: History) => {
  const users: UserCaller[] = Array.from({ length: TWO_USERS }, () => newUser());
  // One target for both users, so their tokens compete for it.
  const gymId = newId();
  harness.targets.gyms.set(gymId, { user_id: users[0]?.userId as number, is_active: true });
  const all = newUser(['payments.view_own', 'payments.buy_premium', 'payments.boost_all']);
  if (sku === 'boost_basic') users[1] = all;
  const tokens = states.map(() => newToken());
  for (const [index, token] of tokens.entries())
    await putPurchase(harness, token, states[index] as StoreState, sku);
  const fields = sku === 'premium_plus' ? {} : { boostable_type: 'gym', boostable_id: gymId };
  const present = (client: Send, { user, token }: Presentation): Promise<Answer> =>
    redeem(client, users[user] as UserCaller, tokens[token] as string, { product_id: sku, ...fields });
  return { users, gymId, tokens, present };
};

type Fixture = Awaited<ReturnType<typeof createFixture>>;

const run = async (drawn: History, { users, gymId, present }: Fixture): Promise<Answered[]> => {
  const turns = new Map<number, number>();
  const presented = drawn.presentations.map(async (presentation): Promise<Answered> => {
    const turn = turns.get(presentation.user) ?? 0;
    turns.set(presentation.user, turn + 1);
    await new Promise((resolve) => setTimeout(resolve, presentation.afterMs));
    return { ...presentation, answer: await present(clients[turn % clients.length] as Send, presentation) };
  });
  const [buyer] = users as [UserCaller];
  harness.wallet.balances.set(buyer.userId, 10 * PREMIUM);
  const body = { boostable_type: 'gym', boostable_id: gymId, level: 'basic' };
  const buy = (client: Send): Promise<Answer> =>
    drawn.sku === 'premium_plus'
      ? buyPremium(client, buyer)
      : client('POST', '/payments/boost', { as: buyer, body });
  const bought = await Promise.all(
    Array.from({ length: drawn.walletPurchases }, (_, turn) => buy(clients[turn % clients.length] as Send)),
  );
  for (const { status } of bought) expect([201, 400]).toContain(status);
  return Promise.all(presented);
};

/** The statuses that a client may get for a token in this state. */
const allowed = (state: StoreState): number[] => (state === 'purchased' ? [200, 201, 400, 404] : [400]);

const expectAllowedAnswers = ({ states }: History, answered: Answered[]): void => {
  for (const [token, state] of states.entries()) {
    const ofToken = answered.filter((each) => each.token === token);
    for (const { answer } of ofToken)
      if (!allowed(state).includes(answer.status))
        throw new Error(`${state}: ${answer.status} ${answer.text}`);
    const created = ofToken.filter(({ answer }) => answer.status === 201);
    expect(created.length).toBeLessThanOrEqual(1);
    const ids = ofToken.flatMap(({ answer }) => (answer.status < 300 ? [answer.body.data.id] : []));
    expect(new Set(ids).size).toBeLessThanOrEqual(1);
    const owners = ofToken.flatMap(({ user, answer }) => (answer.status < 300 ? [user] : []));
    expect(new Set(owners).size).toBeLessThanOrEqual(1);
  }
};

/** Expects at most one grant per token and slot, and a grant for each charge that is not refunded. */
const expectConsistentState = async ({ sku }: History, { users, gymId, tokens }: Fixture): Promise<void> => {
  const ids = users.map(({ userId }) => userId);
  const receipts = await harness.database
    .collection('store_purchases')
    .find({ purchase_token: { $in: tokens } })
    .toArray();
  expect(new Set(receipts.map(({ purchase_token }) => purchase_token)).size).toBe(receipts.length);
  const charges = harness.wallet.bookings(ids[0] as number, 'purchase').length;
  const refunds = harness.wallet.bookings(ids[0] as number, 'income').length;
  const grants =
    sku === 'premium_plus'
      ? await count(harness, 'subscriptions', { user_id: { $in: ids } })
      : await count(harness, 'boosts', { boostable_id: gymId });
  expect(grants).toBe(receipts.length + charges - refunds);
  if (sku === 'boost_basic') expect(grants).toBeLessThanOrEqual(1);
  else
    for (const id of ids)
      expect(await count(harness, 'subscriptions', { user_id: id })).toBeLessThanOrEqual(1);
};

/** Expects every confirmed token to be granted or queued after a round, and replays not to ask the store. */
const expectSettled = async (drawn: History, fixture: Fixture, answered: Answered[]): Promise<void> => {
  harness.clock.advance(20_000);
  await harness.service.rounds.verifyAttempts();
  await expectConsistentState(drawn, fixture);
  for (const [index, token] of fixture.tokens.entries()) {
    const wasPresented = answered.some((each) => each.token === index);
    const receipt = await harness.database.collection('store_purchases').findOne({ purchase_token: token });
    const queued = await count(harness, 'refund_queue', { purchase_token: token, resolved_at: null });
    const settled = wasPresented && drawn.states[index] === 'purchased' ? 1 : 0;
    expect((receipt === null ? 0 : 1) + queued).toBe(settled);
    if (receipt === null) continue;
    // Another replica, because the history has used up the rate limits.
    late ??= await harness.replica();
    const { send } = late;
    const calls = await storeCalls(harness, token);
    const answers = await Promise.all(
      fixture.users.map((_, user) => fixture.present(send, { user, token: index, afterMs: 0 })),
    );
    const expected = fixture.users.map(({ userId }) => (userId === receipt.user_id ? 200 : 404));
    expect(answers.map(({ status }) => status)).toEqual(expected);
    expect(await storeCalls(harness, token)).toBe(calls);
  }
};

/** Random histories of 2 to `most` concurrent presentations. */
export const testHistories = (runs: number, most: number): void => {
  beforeAll(async () => {
    // The cause of a 500 is only in the log.
    late = undefined;
    harness = await startHarness({ LOG_LEVEL: 'error' });
    const replicas = Array.from({ length: most / LIMIT - 1 }, () => harness.replica());
    clients = [harness.send, ...(await Promise.all(replicas)).map(({ send }) => send)];
  });
  afterAll(() => harness.close());

  test(`concurrent presentations grant each token and slot once, queue refunds and are never a 500 (seed ${SEED})`, async () => {
    let presentations = 0;
    const property = fc.asyncProperty(historyOf(most), async (drawn) => {
      presentations += drawn.presentations.length;
      const fixture = await createFixture(drawn);
      const answered = await run(drawn, fixture);
      expectAllowedAnswers(drawn, answered);
      await expectConsistentState(drawn, fixture);
      await expectSettled(drawn, fixture, answered);
    });
    await fc.assert(property, { seed: SEED, numRuns: runs, endOnFailure: true });
    expect(presentations).toBeGreaterThan(2 * runs);
  });
};
