/**
 * `score(u)` is the sum over u's direct referrals of `1 + score / 2` (specification 2.2). Unrolled, it is the sum over
 * the levels below u of their sizes, halved at each level: n1 + n2/2 + n3/4 …
 */
export interface ScoreSoFar {
  score: number;
  /** What one user of the next level adds. */
  weight: number;
}

export const EMPTY_SCORE: ScoreSoFar = { score: 0, weight: 1 };

export const addLevel = ({ score, weight }: ScoreSoFar, size: number): ScoreSoFar => ({
  score: score + size * weight,
  weight: weight / 2,
});

/** Whether the levels not read yet, had they all other users together, could still change the double. */
export const canStillChange = ({ score, weight }: ScoreSoFar, allUsers: number): boolean =>
  score + allUsers * weight !== score;
