/** What a later document of the API takes away from its clients. */
import { apiDiff } from 'api-smart-diff';
import type { ApiDocument } from '../../gateway/src/api/openapi-merge.ts';

type Difference = ReturnType<typeof apiDiff>[number];

/** Generated clients name their methods after the operations; the library regards these ids as annotations. */
const changesOperationId = ({ path, action }: Difference): boolean =>
  path.length === 4 && path.at(-1) === 'operationId' && action !== 'add';

/** A value of another type in an answer cannot be decoded; the library judges types of requests only. */
const widensTypeOfAnswer = ({ path, before, after }: Difference): boolean => {
  if (path.at(-1) !== 'type' || !path.includes('responses')) return false;
  const known = [before].flat();
  return [after].flat().some((type) => !known.includes(type));
};

/**
 * A component has no direction: what an answer may gain, a request must not. The library follows the references of every
 * operation, to schemas and to responses, so that each use of a component is judged where it stands.
 */
const isComponent = ({ path }: Difference): boolean => path[0] === 'components';

const TEXTS = new Set(['description', 'summary', 'example', 'examples']);

/**
 * A copy, which the library may change, without texts and examples. Alternatives of `anyOf` whose texts differ are alternatives of
 * their own for the library, which then compares each with the wrong one. A field may have such a name: it is an object.
 */
const withoutTexts = (document: ApiDocument): ApiDocument =>
  JSON.parse(
    JSON.stringify(document, (key, value) =>
      TEXTS.has(key) && (typeof value === 'string' || key.startsWith('example')) ? undefined : value,
    ),
  );

/** Where they are, e.g. `paths//api/v1/gyms/get/responses/200`. Empty when clients of `before` work with `after`. */
export const breakingChanges = (before: ApiDocument, after: ApiDocument): string[] =>
  apiDiff(withoutTexts(before), withoutTexts(after), {})
    .filter((difference) => !isComponent(difference))
    .filter(
      (difference) =>
        difference.type === 'breaking' || changesOperationId(difference) || widensTypeOfAnswer(difference),
    )
    .map(({ path }) => path.join('/'));
