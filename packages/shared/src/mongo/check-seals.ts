/** Checks a chain of seals against the records that it seals. */

import { NO_PROGRESS, type Progress } from '../kernel/progress.mjs';
import {
  type Difference,
  differenceOfLeaves,
  differenceOfSeal,
  headText,
  type NotedHead,
  type Seal,
  type SealedRecord,
} from '../kernel/seal.ts';
import type { Seals } from './seals.ts';

/** Each seal holds up to 500 records. */
const CHUNK = 5;

export interface SealsReport {
  /** Number of seals that were read. */
  seals: number;
  /** The newest seal as `number:hash`; undefined when nothing is sealed, or after a difference. */
  head: string | undefined;
  /** The first difference. */
  difference: Difference;
}

/**
 * Reads the whole chain and stops at the first difference. `recordsOf`: the records listed in a seal and those marked with
 * its number, from one snapshot. `noted`: a head of an earlier audit, which the chain must still contain. Each sealed record is
 * one step of the progress.
 */
export const checkSeals = async <Entry extends SealedRecord>(
  {
    seals,
    recordsOf,
    isIntact,
    progress = NO_PROGRESS,
  }: {
    seals: Pick<Seals, 'after' | 'newest'>;
    recordsOf: (seal: Seal) => Promise<readonly Entry[]>;
    isIntact: (entry: Entry) => boolean;
    progress?: Progress;
  },
  noted?: NotedHead,
): Promise<SealsReport> => {
  let last: Seal | undefined;
  let count = 0;
  const failed = (difference: Difference): SealsReport => ({ seals: count, head: undefined, difference });
  for (;;) {
    const chunk = await seals.after(last?.number ?? 0, CHUNK);
    for (const seal of chunk) {
      const difference = differenceOfSeal(seal, last);
      if (difference !== undefined) return failed(difference);
      if (seal.number === noted?.number && seal.hash !== noted.hash)
        return failed(`seal ${seal.number} is not the one that was noted`);
      last = seal;
    }
    const newest = (await seals.newest(last?.number ?? 0))?.number;
    for (const seal of chunk) {
      const records = await recordsOf(seal);
      const difference = differenceOfLeaves(seal, records, { isNewest: seal.number === newest, isIntact });
      if (difference !== undefined) return failed(difference);
      progress.advance('sealed entries', seal.leaves.length);
    }
    count += chunk.length;
    if (chunk.length < CHUNK) break;
  }
  if (noted !== undefined && (last?.number ?? 0) < noted.number)
    return failed(`seal ${noted.number}, which was noted, does not exist`);
  return { seals: count, head: last === undefined ? undefined : headText(last), difference: undefined };
};
