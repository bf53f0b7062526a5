/**
 * Random histories against a model in memory. `WALLET_MODEL_OPERATIONS` and `WALLET_MODEL_SEED` make a longer run, or
 * another one.
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createModel } from './model.ts';
import { command, createPlayer, type Player } from './model-history.ts';
import { startWorld, together, type World } from './support.ts';

const OPERATIONS = Number(process.env.WALLET_MODEL_OPERATIONS ?? 2_000);
const SEED = Number(process.env.WALLET_MODEL_SEED ?? 20_260_115);
const CALLERS = 64;
const HISTORY = 500;
/** The audit reads everything: a world is left behind after so many histories. */
const HISTORIES_PER_WORLD = 10;
const TIMEOUT_MS = 120_000 + OPERATIONS * 100;

const histories = Math.ceil(OPERATIONS / HISTORY);
const totals = { accepted: 0, refused: 0, readings: 0, unknown: 0 };
let world: World | undefined;
let played = 0;

afterAll(async () => {
  await world?.close();
}, 120_000);

const freshWorld = async (): Promise<World> => {
  if (world !== undefined && played % HISTORIES_PER_WORLD !== 0) return world;
  await world?.close();
  world = undefined;
  world = await startWorld();
  return world;
};

/** What must hold once nothing is under way. */
const judge = async (current: World, player: Player): Promise<void> => {
  const { model, people } = player;
  expect(model.verdict()).toBeUndefined();
  for (const [userId, balance] of model.balances()) {
    expect([userId, await current.balanceOf(userId)]).toEqual([userId, balance]);
    expect(balance).toBeGreaterThanOrEqual(0);
  }
  for (const { userId } of people) {
    const open = await current.connection.collection('payments').countDocuments({
      user_id: userId,
      type: 'withdrawal',
      is_done: false,
      rejected_at: null,
    });
    expect([userId, open]).toEqual([userId, player.openWithdrawals(userId)]);
  }
  expect((await current.audit()).difference).toBeUndefined();
};

const report = (): string =>
  `wallet model: seed ${SEED}, ${played} histories of ${HISTORY} operations by ${CALLERS} callers; ` +
  `${totals.accepted} accepted, ${totals.refused} refused, ${totals.readings} balances read, ` +
  `${totals.unknown} asked again\n`;

describe('the model', () => {
  const credit = new Map([[1, 10]]);
  const debit = new Map([[1, -10]]);

  test('finds a debit that was accepted before there was money for it', () => {
    const model = createModel([1]);
    model.begin('early', debit).end('accepted');
    model.begin('late', credit).end('accepted');
    expect(model.verdict()).toContain('early was accepted');
  });

  test('finds a debit that was refused though the money was there all the time', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    model.begin('debit', debit).end('refused');
    expect(model.verdict()).toContain('debit was refused');
  });

  test('finds two debits that spent the same money', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    const [one, other] = [model.begin('one', debit), model.begin('other', debit)];
    one.end('accepted');
    other.end('accepted');
    expect(model.balances()).toEqual(new Map([[1, -10]]));
  });

  test('finds a balance that no order shows', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    model.read(1).end(5);
    expect(model.verdict()).toContain('user 1 was shown 5');
  });

  test('allows whatever some order of overlapping operations allows', () => {
    const model = createModel([1, 2]);
    const [paid, refused, read] = [model.begin('paid', debit), model.begin('refused', debit), model.read(1)];
    const late = model.begin('credit', credit);
    late.end('accepted');
    paid.end('accepted');
    refused.end('refused');
    read.end(10);
    expect(model.verdict()).toBeUndefined();
  });
});

test(
  'whatever 64 callers do at once, every answer is one that some order allows, and the books are right',
  async () => {
    const history = fc.array(command, { minLength: HISTORY, maxLength: HISTORY });
    await fc
      .assert(
        fc.asyncProperty(history, async (commands) => {
          const current = await freshWorld();
          played += 1;
          const player = createPlayer(current);
          const queue = [...commands];
          await together(CALLERS, async () => {
            for (let next = queue.shift(); next !== undefined; next = queue.shift()) await player.play(next);
          });
          await judge(current, player);
          const { accepted, refused, readings } = player.model.size();
          totals.accepted += accepted;
          totals.refused += refused;
          totals.readings += readings;
          totals.unknown += player.unknown();
        }),
        { numRuns: histories, seed: SEED, endOnFailure: true },
      )
      .finally(() => process.stdout.write(report()));
    // A history in which nothing is refused, or everything, proves little.
    expect(totals.accepted).toBeGreaterThan(OPERATIONS / 10);
    expect(totals.refused).toBeGreaterThan(OPERATIONS / 20);
  },
  TIMEOUT_MS,
);
