/** Lists of which each row names the ones that it is in, as words (docs/adr/0013). */
import type { ListQuery, ListRow } from '@fitness/shared/mongo/list-reader.ts';

export interface FacetQuery extends Pick<ListQuery, 'total' | 'newest' | 'search'> {
  /** The words of the lists; no row is in two of them. */
  facets: readonly string[];
}

/** Whether a row is in one of the lists. */
export const isInFacets = (row: ListRow, words: ReadonlySet<string>): boolean =>
  (row.facets as string[]).some((word) => words.has(word));

/** `more`: what else must hold, and as much of it as an index has beside the facets. */
export const inFacets = (
  { facets, ...query }: FacetQuery,
  more: { accept?: (row: ListRow) => boolean; also?: Record<string, unknown> | undefined } = {},
): ListQuery => {
  const words = new Set(facets);
  return {
    ...query,
    condition: { facets: facets.length === 1 ? facets[0] : { $in: facets }, ...more.also },
    accept: (row) => isInFacets(row, words) && (more.accept?.(row) ?? true),
  };
};
