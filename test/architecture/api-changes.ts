/** What a later document of the API takes away from its clients. */
import { apiDiff } from 'api-smart-diff';
import type { ApiDocument } from '../../gateway/src/openapi-merge.ts';

/** Generated clients name their methods after the operations; the library regards these ids as annotations. */
const isOperationId = (path: readonly PropertyKey[]): boolean =>
  path.length === 4 && path.at(-1) === 'operationId';

/** Where they are, e.g. `paths//api/v1/gyms/get/responses/200`. Empty when clients of `before` work with `after`. */
export const breakingChanges = (before: ApiDocument, after: ApiDocument): string[] =>
  apiDiff(before, after, {})
    .filter(({ type, path, action }) => type === 'breaking' || (isOperationId(path) && action !== 'add'))
    .map(({ path }) => path.join('/'));
