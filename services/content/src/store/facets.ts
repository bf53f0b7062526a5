/** Lists that rows name in their `facets` field (docs/adr/0013). */
import type { ListQuery, ListRow } from '@fitness/shared/mongo/list-reader.ts';

export interface FacetQuery extends Pick<ListQuery, 'total' | 'newest' | 'search'> {
  /** No row is in two of these lists. */
  facets: readonly string[];
}

export const isInFacets = (row: ListRow, words: ReadonlySet<string>): boolean =>
  (row.facets as string[]).some((word) => words.has(word));

/**
 * The query for a list. `accept` checks more fields of a row; `indexed` is the part of that check which an index on the
 * facets covers.
 */
export const inFacets = (
  { facets, ...query }: FacetQuery,
  more: { accept?: (row: ListRow) => boolean; indexed?: Record<string, unknown> | undefined } = {},
): ListQuery => {
  const words = new Set(facets);
  return {
    ...query,
    condition: { facets: facets.length === 1 ? facets[0] : { $in: facets }, ...more.indexed },
    accept: (row) => isInFacets(row, words) && (more.accept?.(row) ?? true),
  };
};
