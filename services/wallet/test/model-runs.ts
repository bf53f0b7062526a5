/** Random histories against an in-memory model. `WALLET_MODEL_SEED` changes them. */
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { type Command, command, createPlayer, type Player } from './model-history.ts';
import { type Harness, startHarness, together } from './support.ts';

const SEED = Number(process.env.WALLET_MODEL_SEED ?? 20_260_115);
/** A new database after this many histories, because the audit reads everything. */
const HISTORIES_PER_HARNESS = 10;

/** Checks balances, holds and the audit when no operation is running. */
const expectConsistent = async (current: Harness, player: Player): Promise<void> => {
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

interface Size {
  histories: number;
  /** The number of operations of a history. */
  operations: number;
  callers: number;
}

/** Plays the histories one after the other, each with many concurrent callers. */
export const playHistories = async ({ histories, operations, callers }: Size): Promise<void> => {
  const totals = { accepted: 0, refused: 0, readings: 0, unknown: 0 };
  let harness: Harness | undefined;
  let played = 0;
  const freshHarness = async (): Promise<Harness> => {
    if (harness !== undefined && played % HISTORIES_PER_HARNESS !== 0) return harness;
    await harness?.close();
    harness = undefined;
    harness = await startHarness();
    return harness;
  };
  const play = async (commands: Command[]): Promise<void> => {
    const current = await freshHarness();
    played += 1;
    const player = createPlayer(current);
    const queue = [...commands];
    await together(callers, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await player.play(next);
    });
    await expectConsistent(current, player);
    const { accepted, refused, readings } = player.model.size();
    totals.accepted += accepted;
    totals.refused += refused;
    totals.readings += readings;
    totals.unknown += player.unknown();
  };
  const history = fc.array(command, { minLength: operations, maxLength: operations });
  try {
    await fc.assert(fc.asyncProperty(history, play), { numRuns: histories, seed: SEED, endOnFailure: true });
  } finally {
    process.stdout.write(
      `wallet model: seed ${SEED}, ${played} histories of ${operations} operations by ${callers} callers; ` +
        `${totals.accepted} accepted, ${totals.refused} refused, ${totals.readings} balances read, ` +
        `${totals.unknown} retried\n`,
    );
    await harness?.close();
  }
  // Both outcomes must be frequent for the histories to test anything.
  expect(totals.accepted).toBeGreaterThan((histories * operations) / 10);
  expect(totals.refused).toBeGreaterThan((histories * operations) / 20);
};
