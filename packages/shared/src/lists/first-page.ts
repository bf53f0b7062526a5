/** The first page of batches of rows, after their texts are compared. */
import type { TextMatch } from '../kernel/text-search.ts';
import { type Batch, COUNTED_MAX } from './batches.ts';
import type { Listed, ListRow, Slice } from './list.ts';

/** How much one page of a search reads at most; characters count in the folded form. */
export const SEARCHED_ROWS_MAX = 5_000;
export const SEARCHED_CHARACTERS_MAX = 8_000_000;
/** Characters that are searched before a pause for other work: a search of long texts takes seconds of CPU time. */
const PORTION_CHARACTERS = 100_000;

interface Portion extends Batch {
  /** How many characters were searched. */
  characters: number;
}

/** The rows of batches whose texts match, in portions, because folding long texts takes time. */
export async function* matching(
  batches: AsyncIterable<Batch>,
  match: (row: ListRow) => TextMatch,
): AsyncGenerator<Portion> {
  for await (const batch of batches) {
    let matches: ListRow[] = [];
    let characters = 0;
    for (const row of batch.rows) {
      const searched = match(row);
      characters += searched.characters;
      if (searched.isMatch) matches.push(row);
      if (characters < PORTION_CHARACTERS) continue;
      const left = batch.read + (batch.left ?? 0);
      yield { rows: matches, read: 0, left, lastId: row._id, isLast: false, characters };
      await new Promise(setImmediate);
      [matches, characters] = [[], 0];
    }
    yield { ...batch, rows: matches, characters };
  }
}

/** The first page of `portions`. `isCounted`: all portions are read to count them, unless there are too many. */
export const firstPage = async (
  portions: AsyncIterable<Batch & Partial<Portion>>,
  { skip, take, signal }: Omit<Slice, 'order'>,
  search: { isCounted: boolean } | undefined,
): Promise<Listed> => {
  const collected: ListRow[] = [];
  let [total, read, searched] = [0, 0, 0];
  for await (const portion of portions) {
    for (const row of portion.rows) {
      total += 1;
      if (total > skip && collected.length <= take) collected.push(row);
    }
    const more = collected.length > take;
    const rows = collected.slice(0, take);
    read += portion.read;
    searched += portion.characters ?? 0;
    const isCountable = search === undefined || read + (portion.left ?? 0) <= COUNTED_MAX;
    if (portion.isLast) return { rows, more, total: isCountable ? total : undefined };
    const isSpent =
      read >= SEARCHED_ROWS_MAX || searched >= SEARCHED_CHARACTERS_MAX || signal?.aborted === true;
    const isCounting = search?.isCounted === true && isCountable && !isSpent;
    if ((more && !isCounting) || signal?.aborted === true) return { rows, more, total: undefined };
    if (search !== undefined && isSpent)
      return { rows, more: true, continueAfter: portion.lastId, total: undefined };
  }
  return { rows: collected, more: false, total: undefined };
};
