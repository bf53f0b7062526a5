import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  addLevel,
  canStillChange,
  computeScore,
  EMPTY_SCORE,
  type ReferralTree,
  scoreOf,
} from './referral-score.ts';

/** Fixed, so that every run checks the same examples. */
const SEED = 20260115;

/** A tree of users 0 … n-1 with the referrer of each (-1: none), and statistics of the users in its queries. */
const treeOf = (referrers: ArrayLike<number>) => {
  const children = new Map<number, number[]>();
  for (let id = 0; id < referrers.length; id += 1) {
    const referrer = referrers[id] ?? -1;
    if (referrer < 0) continue;
    const siblings = children.get(referrer);
    if (siblings === undefined) children.set(referrer, [id]);
    else siblings.push(id);
  }
  const queried = { users: 0, largest: 0, leaves: 0 };
  const tree: ReferralTree = {
    countReferralsOfAll: async (ids) => {
      queried.users += ids.length;
      queried.leaves += ids.filter((id) => !children.has(id)).length;
      queried.largest = Math.max(queried.largest, ids.length);
      return ids.reduce((sum, id) => sum + (children.get(id)?.length ?? 0), 0);
    },
    referredReferrers: async function* (ids) {
      for (const id of ids) yield (children.get(id) ?? []).filter((child) => children.has(child));
    },
  };
  return { tree, queried };
};

/** The recursive definition, computed bottom up: every user has a higher id than their referrer. */
const byDefinition = (referrers: readonly number[]): number[] => {
  const scores = referrers.map(() => 0);
  for (let id = referrers.length - 1; id > 0; id -= 1) {
    scores[referrers[id] ?? 0] = (scores[referrers[id] ?? 0] ?? 0) + 1 + (scores[id] ?? 0) / 2;
  }
  return scores;
};

/** The exact sum over all levels, rounded once. */
const exactly = (sizes: readonly number[]): number => {
  const last = BigInt(sizes.length - 1);
  const scaled = sizes.reduce((sum, size, level) => sum + (BigInt(size) << (last - BigInt(level))), 0n);
  const bits = last > 1_000n ? 1_000n : last;
  return Number(scaled >> (last - bits)) / 2 ** Number(bits);
};

describe('the referral score, level by level', () => {
  test('three referrals, one of whom referred another user, give a score of 3.5', async () => {
    expect(await computeScore(0, treeOf([-1, 0, 0, 0, 2]).tree)).toBe(3.5);
  });

  test('the score equals the recursive definition for any tree', async () => {
    const trees = fc
      .array(fc.nat(), { minLength: 0, maxLength: 45 })
      .map((picks) => [-1, ...picks.map((pick, index) => pick % (index + 1))]);
    await fc.assert(
      fc.asyncProperty(trees, async (referrers) => {
        expect(await computeScore(0, treeOf(referrers).tree)).toBe(byDefinition(referrers)[0]);
      }),
      { seed: SEED },
    );
  });

  test('a chain 999,999 deep gives exactly 2, without recursion and without reading all of it', async () => {
    const chain = Int32Array.from({ length: 1_000_000 }, (_, id) => id - 1);
    const { tree, queried } = treeOf(chain);
    expect(await computeScore(0, tree)).toBe(2);
    expect(queried.users).toBeLessThanOrEqual(110);
  });

  test('the levels that are not read would not change the double', async () => {
    // A chain of 5,000 stars of 20 users; the last user of each star refers the next star.
    const sizes = Array.from({ length: 5_000 }, () => 20);
    const referrers = [-1];
    let last = 0;
    for (const size of sizes) {
      for (let child = 0; child < size; child += 1) referrers.push(last);
      last = referrers.length - 1;
    }
    const { tree, queried } = treeOf(referrers);
    const stopped = await computeScore(0, tree);
    expect(stopped).toBe(exactly(sizes));
    expect(queried.users).toBeLessThanOrEqual(110);
  });

  test('once the sum cannot change, even the largest possible levels do not change the double', () => {
    for (const sizes of [[1], [1, 0], [1, 1], [3, 1], [9_999], [1_000_000, 1], [2 ** 40, 5]]) {
      let sum = EMPTY_SCORE;
      while (canStillChange(sum)) sum = addLevel(sum, sizes[sum.levels % sizes.length] ?? 0);
      expect(sum.levels).toBeLessThanOrEqual(110);
      const score = scoreOf(sum);
      let all = addLevel(sum, 2 ** 53 - 1);
      expect(scoreOf(all)).toBe(score);
      for (let level = 0; level < 500; level += 1) {
        sum = addLevel(sum, 1_000_000);
        expect(scoreOf(sum)).toBe(score);
      }
      all = addLevel(all, 0);
      expect(scoreOf(all)).toBe(score);
    }
    expect(canStillChange(addLevel(EMPTY_SCORE, 1))).toBe(true);
  });

  test('a sum in the middle between two doubles is not rounded before the deciding level is read', () => {
    // 1 + 2^-53 is the middle between 1 and the next double; a single user on a later level decides.
    let sum = addLevel(EMPTY_SCORE, 1);
    for (let level = 1; level < 53; level += 1) sum = addLevel(sum, 0);
    sum = addLevel(sum, 1);
    expect([scoreOf(sum), canStillChange(sum)]).toEqual([1, true]);
    for (let level = 0; level < 40; level += 1) sum = addLevel(sum, 0);
    expect(canStillChange(sum)).toBe(true);
    expect(scoreOf(addLevel(sum, 1))).toBe(1 + Number.EPSILON);
  });

  test('a sum that approaches such a middle forever ends at MAX_LEVELS, with one of the two doubles', () => {
    let sum = addLevel(EMPTY_SCORE, 4);
    for (let level = 1; level < 52; level += 1) sum = addLevel(sum, 0);
    while (canStillChange(sum)) sum = addLevel(sum, 1);
    expect(sum.levels).toBeLessThanOrEqual(160);
    expect([4, 4 + 4 * Number.EPSILON]).toContain(scoreOf(sum));
  });

  test('half a million users with one referral each are queried in batches of a thousand', async () => {
    const half = 500_000;
    const { tree, queried } = treeOf(
      Int32Array.from({ length: 2 * half + 1 }, (_, id) => (id <= half ? (id === 0 ? -1 : 0) : id - half)),
    );
    expect(await computeScore(0, tree)).toBe(half + half / 2);
    expect(queried).toEqual({ users: 1 + half, largest: 1_000, leaves: 0 });
  });

  test('users without referrals are counted, but never queried', async () => {
    // Three stars of 10,000 users, each below one user of the previous star.
    const referrers = Int32Array.from({ length: 30_001 }, (_, id) =>
      id === 0 ? -1 : ([0, 1, 10_001][Math.floor((id - 1) / 10_000)] ?? 0),
    );
    const { tree, queried } = treeOf(referrers);
    expect(await computeScore(0, tree)).toBe(10_000 + 10_000 / 2 + 10_000 / 4);
    expect(queried).toEqual({ users: 3, largest: 1, leaves: 0 });
  });

  test('the computation ends even for a cycle, which the service never creates', async () => {
    expect(await computeScore(0, treeOf([1, 0]).tree)).toBe(2);
  });
});
