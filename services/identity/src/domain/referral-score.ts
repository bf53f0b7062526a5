/**
 * `score(u)` is the sum over u's direct referrals of `1 + score / 2` (specification 2.2). Unrolled, it is the sum of the
 * sizes of the levels below u, halved at each level: n1 + n2/2 + n3/4 … So only the size of each level is needed, and
 * no recursion. The sum is exact and rounded once, to the nearest double.
 */
interface PartialScore {
  levels: number;
  /** The sum, times 2^(levels - 1). */
  scaled: bigint;
}

export const EMPTY_SCORE: PartialScore = { levels: 0, scaled: 0n };

export const addLevel = ({ levels, scaled }: PartialScore, size: number): PartialScore => ({
  levels: levels + 1,
  scaled: scaled * 2n + BigInt(size),
});

/** `Number` rounds to the nearest double; the division by a power of two is exact. */
export const scoreOf = ({ levels, scaled }: PartialScore): number =>
  levels === 0 ? 0 : Number(scaled) / 2 ** (levels - 1);

/** An upper bound on the number of users: ids are distinct positive integers that a double holds exactly. */
const USER_LIMIT = 2n ** 53n;
const MAX_LEVELS = 160;

/**
 * Whether further levels could change the resulting double.
 *
 * When this is false, reading further levels gives the same number. A user on a further level adds at most half a unit of
 * the last level. All of them together add some x in that unit: 0 ≤ x < USER_LIMIT / 2. Rounding is monotonic:
 * round(sum) ≤ round(sum + x) ≤ round(sum + USER_LIMIT / 2), and the outer two are equal.
 *
 * It becomes false at about level 107, where x is below half of the last digit of a sum of 1 or more. It becomes false later
 * if the sum is closer than x to the midpoint of two doubles. A sum that approaches such a midpoint forever is equally
 * close to both doubles, so MAX_LEVELS ends it. MAX_LEVELS also ends a cycle, which the service never creates.
 */
export const canStillChange = ({ levels, scaled }: PartialScore): boolean =>
  levels < MAX_LEVELS && Number(scaled) !== Number(scaled + USER_LIMIT / 2n);

/** One user may have referred a million others, so no method returns all of them at once. */
export interface ReferralTree {
  /** The number of direct referrals of all these users together. */
  countReferralsOfAll(userIds: readonly number[]): Promise<number>;
  /** The direct referrals of these users who have referrals themselves, in batches. */
  referredReferrers(userIds: readonly number[]): AsyncIterable<readonly number[]>;
}

/** Users per query. */
const BATCH_SIZE = 1_000;

/**
 * The score, level by level. Users without referrals, the majority, are only counted among the referrals of others; no query
 * asks about them. It holds the ids of at most two levels of users with referrals, 8 bytes each: at most about 16 MiB
 * for a million users.
 */
export const computeScore = async (userId: number, tree: ReferralTree): Promise<number> => {
  let sum = EMPTY_SCORE;
  let level = [userId];
  while (level.length > 0 && canStillChange(sum)) {
    const next: number[] = [];
    let size = 0;
    for (let start = 0; start < level.length; start += BATCH_SIZE) {
      const batch = level.slice(start, start + BATCH_SIZE);
      const [referred] = await Promise.all([tree.countReferralsOfAll(batch), collect(tree, batch, next)]);
      size += referred;
    }
    sum = addLevel(sum, size);
    level = next;
  }
  return scoreOf(sum);
};

const collect = async (tree: ReferralTree, batch: readonly number[], into: number[]): Promise<void> => {
  for await (const ids of tree.referredReferrers(batch)) for (const id of ids) into.push(id);
};
