/** Random histories of presentations: whatever comes at once and in whatever order, the rules of specification 4.6 hold. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import type { Answer, Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  buyPremium,
  count,
  newId,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startWorld,
  storeCalls,
  type World,
} from './support.ts';

/** Printed with the result; another one and more runs: `REDEMPTION_SEED=… REDEMPTION_RUNS=…`. */
const SEED = Number(process.env.REDEMPTION_SEED ?? 20_260_115);
const RUNS = Number(process.env.REDEMPTION_RUNS ?? 12);
/** Each of them lets ten requests of a user through, and each is a process of its own to the database. */
const DOORS = 5;
const TWO_USERS = 2;

let world: World;
let doors: Send[] = [];
beforeAll(async () => {
  world = await startWorld();
  const replicas = await Promise.all(Array.from({ length: DOORS - 1 }, () => world.replica()));
  doors = [world.send, ...replicas.map(({ send }) => send)];
});
afterAll(() => world.close());

/** A store that always answers: any 500 is then one of ours. */
type StoreState = 'purchased' | 'canceled' | 'pending' | 'garbage';

interface Presentation {
  user: number;
  token: number;
  /** Milliseconds after the first. */
  afterMs: number;
}

interface History {
  sku: 'premium_plus' | 'boost_basic';
  /** What the store says of each token. */
  states: StoreState[];
  presentations: Presentation[];
  /** Purchases of the same from the wallet, by the first user, at the same time. */
  walletPurchases: number;
}

const history: fc.Arbitrary<History> = fc
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
        { minLength: 2, maxLength: 50, size: 'max' },
      ),
      walletPurchases: fc.nat({ max: 3 }),
    }),
  );

interface Told extends Presentation {
  answer: Answer;
}

/** What the users, targets and tokens of one history are. */
const setTheStage = async ({ sku, states }: History) => {
  const users: UserCaller[] = Array.from({ length: TWO_USERS }, () => newUser());
  // One target for both, so that their tokens compete for it.
  const gymId = newId();
  world.targets.gyms.set(gymId, { user_id: users[0]?.userId as number, is_active: true });
  const all = newUser(['payments.view_own', 'payments.buy_premium', 'payments.boost_all']);
  if (sku === 'boost_basic') users[1] = all;
  const tokens = states.map(() => newToken());
  for (const [index, token] of tokens.entries())
    await putPurchase(world, token, states[index] as StoreState, sku);
  const fields = sku === 'premium_plus' ? {} : { boostable_type: 'gym', boostable_id: gymId };
  const present = (door: Send, { user, token }: Presentation): Promise<Answer> =>
    redeem(door, users[user] as UserCaller, tokens[token] as string, { product_id: sku, ...fields });
  return { users, gymId, tokens, present };
};

type Stage = Awaited<ReturnType<typeof setTheStage>>;

const play = async (played: History, { users, gymId, present }: Stage): Promise<Told[]> => {
  const turns = new Map<number, number>();
  const presented = played.presentations.map(async (presentation): Promise<Told> => {
    const turn = turns.get(presentation.user) ?? 0;
    turns.set(presentation.user, turn + 1);
    await new Promise((resolve) => setTimeout(resolve, presentation.afterMs));
    return { ...presentation, answer: await present(doors[turn % DOORS] as Send, presentation) };
  });
  const [buyer] = users as [UserCaller];
  world.wallet.balances.set(buyer.userId, 10 * PREMIUM);
  const body = { boostable_type: 'gym', boostable_id: gymId, level: 'basic' };
  const buy = (door: Send): Promise<Answer> =>
    played.sku === 'premium_plus'
      ? buyPremium(door, buyer)
      : door('POST', '/payments/boost', { as: buyer, body });
  const bought = await Promise.all(
    Array.from({ length: played.walletPurchases }, (_, turn) => buy(doors[turn] as Send)),
  );
  for (const { status } of bought) expect([201, 400]).toContain(status);
  return Promise.all(presented);
};

/** What a client may be told of a token in this state. */
const allowed = (state: StoreState): number[] => (state === 'purchased' ? [200, 201, 400, 404] : [400]);

const judgeAnswers = ({ states }: History, told: Told[]): void => {
  for (const [token, state] of states.entries()) {
    const ofToken = told.filter((each) => each.token === token);
    for (const { answer } of ofToken) expect(allowed(state)).toContain(answer.status);
    const fresh = ofToken.filter(({ answer }) => answer.status === 201);
    expect(fresh.length).toBeLessThanOrEqual(1);
    const ids = ofToken.flatMap(({ answer }) => (answer.status < 300 ? [answer.body.data.id] : []));
    expect(new Set(ids).size).toBeLessThanOrEqual(1);
    const owners = ofToken.flatMap(({ user, answer }) => (answer.status < 300 ? [user] : []));
    expect(new Set(owners).size).toBeLessThanOrEqual(1);
  }
};

/** What is stored: at most one grant a token and one in each slot; who paid has it, or is owed it. */
const judgeState = async ({ sku }: History, { users, gymId, tokens }: Stage): Promise<void> => {
  const ids = users.map(({ userId }) => userId);
  const receipts = await world.database
    .collection('store_purchases')
    .find({ purchase_token: { $in: tokens } })
    .toArray();
  expect(new Set(receipts.map(({ purchase_token }) => purchase_token)).size).toBe(receipts.length);
  const charges = world.wallet.bookings(ids[0] as number, 'purchase').length;
  const refunds = world.wallet.bookings(ids[0] as number, 'income').length;
  const grants =
    sku === 'premium_plus'
      ? await count(world, 'subscriptions', { user_id: { $in: ids } })
      : await count(world, 'boosts', { boostable_id: gymId });
  expect(grants).toBe(receipts.length + charges - refunds);
  if (sku === 'boost_basic') expect(grants).toBeLessThanOrEqual(1);
  else
    for (const id of ids) expect(await count(world, 'subscriptions', { user_id: id })).toBeLessThanOrEqual(1);
};

/** Every confirmed token is granted or owed once the background has gone on, and a replay asks the store nothing. */
const judgeAfterwards = async (played: History, stage: Stage, told: Told[]): Promise<void> => {
  world.clock.advance(20_000);
  await world.service.rounds.verifyAttempts();
  await judgeState(played, stage);
  for (const [index, token] of stage.tokens.entries()) {
    const wasPresented = told.some((each) => each.token === index);
    const receipt = await world.database.collection('store_purchases').findOne({ purchase_token: token });
    const owed = await count(world, 'refund_queue', { purchase_token: token, resolved_at: null });
    const settled = wasPresented && played.states[index] === 'purchased' ? 1 : 0;
    expect((receipt === null ? 0 : 1) + owed).toBe(settled);
    if (receipt === null) continue;
    // A door of its own: those of the history have had their ten requests.
    const { send } = await lateDoor();
    const calls = await storeCalls(world, token);
    const answers = await Promise.all(
      stage.users.map((_, user) => stage.present(send, { user, token: index, afterMs: 0 })),
    );
    const expected = stage.users.map(({ userId }) => (userId === receipt.user_id ? 200 : 404));
    expect(answers.map(({ status }) => status)).toEqual(expected);
    expect(await storeCalls(world, token)).toBe(calls);
  }
};

let late: ReturnType<World['replica']> | undefined;
const lateDoor = (): ReturnType<World['replica']> => {
  late ??= world.replica();
  return late;
};

describe(`a history of 2 to 50 presentations by two users at once (seed ${SEED}, ${RUNS} runs)`, () => {
  test('grants each token and fills each slot once, owes what it cannot grant, and no race is a 500', async () => {
    let presentations = 0;
    const property = fc.asyncProperty(history, async (played) => {
      presentations += played.presentations.length;
      const stage = await setTheStage(played);
      const told = await play(played, stage);
      judgeAnswers(played, told);
      await judgeState(played, stage);
      await judgeAfterwards(played, stage, told);
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
    expect(presentations).toBeGreaterThan(2 * RUNS);
  }, 300_000);
});
