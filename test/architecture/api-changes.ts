/** Finds changes in a later API document that break its clients. */
import { isDeepStrictEqual } from 'node:util';
import { apiDiff } from 'api-smart-diff';
import type { ApiDocument } from '../../gateway/src/api/openapi-merge.ts';

type Difference = ReturnType<typeof apiDiff>[number];

/** Generated clients name their methods after operation ids, which the library treats as annotations. */
const changesOperationId = ({ path, action }: Difference): boolean =>
  path.length === 4 && path.at(-1) === 'operationId' && action !== 'add';

/** A response value of a new type, or another constant, cannot be decoded. The library checks types only in requests. */
const widensTypeOfAnswer = ({ path, before, after }: Difference): boolean => {
  if (!['type', 'const'].includes(String(path.at(-1))) || !path.includes('responses')) return false;
  const previousTypes = [before].flat();
  return [after].flat().some((type) => !previousTypes.includes(type));
};

/**
 * A component has no direction: an addition that is harmless in a response may break a request. The library follows every
 * operation's references to schemas and responses, so each use of a component is checked where it is used.
 */
const isComponent = ({ path }: Difference): boolean => path[0] === 'components';

const alternativesOf = (pattern: unknown): string[] | undefined =>
  /^\^\(\?:(.*)\)\$$/.exec(String(pattern))?.[1]?.split('|');

/** Values with a backslash are documented as a pattern. As in an enumeration, a request may accept more of them. */
const addsAlternative = ({ path, before, after }: Difference): boolean => {
  if (path.at(-1) !== 'pattern' || path.includes('responses')) return false;
  const [earlier, later] = [alternativesOf(before), alternativesOf(after)];
  return earlier?.every((one) => later?.includes(one)) === true;
};

const TEXTS = new Set(['description', 'summary', 'example', 'examples']);

/**
 * A copy without texts and examples, which the library may modify. The library treats `anyOf` alternatives with
 * different texts as different, and would compare the wrong ones. A field may have one of these names, but then
 * its value is an object.
 */
const withoutTexts = (document: ApiDocument): ApiDocument =>
  JSON.parse(
    JSON.stringify(document, (key, value) =>
      TEXTS.has(key) && (typeof value === 'string' || key.startsWith('example')) ? undefined : value,
    ),
  );

/** Paths of breaking changes, e.g. `paths//api/v1/gyms/get/responses/200`. Empty if clients of `before` work with `after`. */
export const breakingChanges = (before: ApiDocument, after: ApiDocument): string[] => {
  const [one, other] = [withoutTexts(before), withoutTexts(after)];
  // The library takes a second to find no difference.
  if (isDeepStrictEqual(one, other)) return [];
  return apiDiff(one, other, {})
    .filter((difference) => !isComponent(difference) && !addsAlternative(difference))
    .filter(
      (difference) =>
        difference.type === 'breaking' || changesOperationId(difference) || widensTypeOfAnswer(difference),
    )
    .map(({ path }) => path.join('/'));
};
