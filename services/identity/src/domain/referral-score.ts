/**
 * `score(u)` is the sum over u's direct referrals of `1 + score / 2` (specification 2.2). Unrolled, it is the sum over
 * the levels below u of their sizes, halved at each level: n1 + n2/2 + n3/4 … So it needs no recursion, only how many
 * users each level has. It is summed exactly and rounded once: the double nearest to it.
 */
export interface ScoreSoFar {
  levels: number;
  /** The sum, times 2^(levels - 1). */
  scaled: bigint;
}

export const EMPTY_SCORE: ScoreSoFar = { levels: 0, scaled: 0n };

export const addLevel = ({ levels, scaled }: ScoreSoFar, size: number): ScoreSoFar => ({
  levels: levels + 1,
  scaled: scaled * 2n + BigInt(size),
});

/** `Number` rounds to the nearest double, once; a power of two divides it exactly. */
export const scoreOf = ({ levels, scaled }: ScoreSoFar): number =>
  levels === 0 ? 0 : Number(scaled) / 2 ** (levels - 1);

/** Ids are positive integers that a double holds exactly, and each is one user's: there are fewer users than this. */
const MORE_THAN_ALL_USERS = 2n ** 53n;
const MAX_LEVELS = 160;

/**
 * Whether the levels not read yet could change the double, had they all users that there can be.
 *
 * When this is false, reading on gives the very same number: a user of a further level counts half a unit of the last
 * level or less, so all of them together add some x, 0 ≤ x < MORE_THAN_ALL_USERS / 2 in that unit. Rounding is monotonic:
 * round(sum) ≤ round(sum + x) ≤ round(sum + MORE_THAN_ALL_USERS / 2), and the outer two are equal.
 *
 * It becomes false about level 107, when x is below half of the last digit of a sum of 1 or more, and later only as long
 * as the sum lies closer than x to the middle between two doubles. A sum that comes closer to such a middle for ever, and
 * never gets there, is as near to one of the two as to the other: that is given up at MAX_LEVELS. So a tree that goes on
 * and on ends here, even a circle that no road of ours leads to.
 */
export const canStillChange = ({ levels, scaled }: ScoreSoFar): boolean =>
  levels < MAX_LEVELS && Number(scaled) !== Number(scaled + MORE_THAN_ALL_USERS / 2n);

/** Who referred whom. A million users may have been referred by one, so neither question has all of them in one answer. */
export interface ReferralTree {
  /** How many users these have referred, all together. */
  countReferred(userIds: readonly number[]): Promise<number>;
  /**
   * Those of them who have referred somebody; in pieces as they come, never more than a piece of them is held at once.
   */
  referrersReferred(userIds: readonly number[]): AsyncIterable<readonly number[]>;
}

/** How many users are asked about at once. */
const BATCH = 1_000;

/**
 * The score, level by level. Most users refer nobody: they are counted where they were referred, and nothing is asked
 * about them. At any moment it holds the ids of the others of one level and of what is read of the next, eight bytes
 * each: a million users are some 16 MiB at the most.
 */
export const sumLevels = async (userId: number, tree: ReferralTree): Promise<number> => {
  let sum = EMPTY_SCORE;
  let level = [userId];
  while (level.length > 0 && canStillChange(sum)) {
    const next: number[] = [];
    let size = 0;
    for (let start = 0; start < level.length; start += BATCH) {
      const batch = level.slice(start, start + BATCH);
      const [referred] = await Promise.all([tree.countReferred(batch), collect(tree, batch, next)]);
      size += referred;
    }
    sum = addLevel(sum, size);
    level = next;
  }
  return scoreOf(sum);
};

const collect = async (tree: ReferralTree, batch: readonly number[], into: number[]): Promise<void> => {
  for await (const ids of tree.referrersReferred(batch)) for (const id of ids) into.push(id);
};
