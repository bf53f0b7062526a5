/** Random histories against a model in memory. `WALLET_MODEL_SEED` makes other ones. */
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { type Command, command, createPlayer, type Player } from './model-history.ts';
import { startWorld, together, type World } from './support.ts';

const SEED = Number(process.env.WALLET_MODEL_SEED ?? 20_260_115);
const CALLERS = 64;
const HISTORY = 500;
/** The audit reads everything: a world is left behind after so many histories. */
const HISTORIES_PER_WORLD = 10;

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

/** So many histories, one after the other, of many callers at once each. */
export const playHistories = async (histories: number): Promise<void> => {
  const totals = { accepted: 0, refused: 0, readings: 0, unknown: 0 };
  let world: World | undefined;
  let played = 0;
  const freshWorld = async (): Promise<World> => {
    if (world !== undefined && played % HISTORIES_PER_WORLD !== 0) return world;
    await world?.close();
    world = undefined;
    world = await startWorld();
    return world;
  };
  const play = async (commands: Command[]): Promise<void> => {
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
  };
  const history = fc.array(command, { minLength: HISTORY, maxLength: HISTORY });
  try {
    await fc.assert(fc.asyncProperty(history, play), { numRuns: histories, seed: SEED, endOnFailure: true });
  } finally {
    process.stdout.write(
      `wallet model: seed ${SEED}, ${played} histories of ${HISTORY} operations by ${CALLERS} callers; ` +
        `${totals.accepted} accepted, ${totals.refused} refused, ${totals.readings} balances read, ` +
        `${totals.unknown} asked again\n`,
    );
    await world?.close();
  }
  // A history in which nothing is refused, or everything, proves little.
  expect(totals.accepted).toBeGreaterThan((histories * HISTORY) / 10);
  expect(totals.refused).toBeGreaterThan((histories * HISTORY) / 20);
};
