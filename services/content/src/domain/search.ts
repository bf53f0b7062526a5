import { queryGrams } from '@fitness/shared/text-search.ts';

/** Whether a query says anything once it is folded; one that does not is as good as none. */
export const asksForText = (query: string | undefined): query is string =>
  query !== undefined && queryGrams(query).length > 0;
