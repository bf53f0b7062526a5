/** Estimates from a sample how common the grams of a search are. This decides where a search begins, never its results. */
import type { Collection } from 'mongoose';

export interface Gram {
  text: string;
  /** Estimated share of the rows that contain it, above 0. */
  share: number;
  /** No row of the sample contains it. */
  isRare: boolean;
}

const SAMPLE = 128;
/** The sample is used for this time, while the collection grows by less than a tenth. */
const LIFETIME_MS = 60_000;

interface Sample {
  /** How many of its rows contain each gram. */
  counts: Promise<ReadonlyMap<string, number>>;
  newest: number;
  until: number;
}

/** Chooses among the grams of a search. `newest`: the largest id of the collection. */
export type RarestGram = (grams: readonly string[], newest: number) => Promise<Gram>;

export const createRarestGram = (texts: Collection): RarestGram => {
  let sample: Sample | undefined;

  const count = async (newest: number): Promise<Map<string, number>> => {
    // Spread evenly over all ids, because recent rows may have common topics.
    const ids = Array.from(
      { length: SAMPLE },
      (_, index) => 1 + Math.floor(((index + 0.5) * newest) / SAMPLE),
    );
    const sampled = await texts.find({ row: { $in: ids } }, { projection: { grams: 1 } }).toArray();
    const counts = new Map<string, number>();
    for (const { grams } of sampled)
      for (const gram of grams as string[]) counts.set(gram, (counts.get(gram) ?? 0) + 1);
    return counts;
  };

  const sampleOf = (newest: number): Sample => {
    const now = performance.now();
    if (sample !== undefined && sample.until > now && newest <= sample.newest * 1.1) return sample;
    const fresh: Sample = { counts: count(newest), newest, until: now + LIFETIME_MS };
    sample = fresh;
    fresh.counts.catch(() => {
      if (sample === fresh) sample = undefined;
    });
    return fresh;
  };

  return async (grams, newest) => {
    const counts = await sampleOf(newest).counts;
    return grams
      .map((text): Gram => {
        const count = counts.get(text) ?? 0;
        return { text, share: Math.max(count, 0.5) / SAMPLE, isRare: count === 0 };
      })
      .reduce((rarest, gram) => (gram.share < rarest.share ? gram : rarest));
  };
};
