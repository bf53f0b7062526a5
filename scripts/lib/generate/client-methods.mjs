/**
 * Readable names for the operations in @fitness/client, such as `refunds.resolve`. Operation ids stay until version 2
 * (docs/adr/0077). A regular operation is named after its path; the names of all others are in client-names.json.
 */
import names from './client-names.json' with { type: 'json' };

/**
 * Names by operation id. Null means that the client has a hand-written method, or that apps do not call the operation.
 * @type {Record<string, string | null>}
 */
const NAMES = names;

/** @param {string} segment */
const camelCase = (segment) => segment.replaceAll(/-(\w)/g, (_match, letter) => letter.toUpperCase());

/**
 * `DELETE /posts/{id}` is `posts.delete`, and `POST /trainees/{id}/deliver` is `trainees.deliver`.
 * @param {string} method @param {string} path @param {boolean} isList
 */
const ordinaryName = (method, path, isList) => {
  const segments = path.split('/').slice(3);
  const last = segments.at(-1) ?? '';
  const parent = segments.at(-2) ?? '';
  if (last.startsWith('{')) {
    const verbs = { get: 'retrieve', put: 'update', delete: 'delete' };
    return `${camelCase(parent)}.${verbs[/** @type {keyof typeof verbs} */ (method)] ?? method}`;
  }
  if (parent.startsWith('{')) return `${camelCase(segments.at(-3) ?? '')}.${camelCase(last)}`;
  const verbs = { get: isList ? 'list' : 'retrieve', post: 'create', put: 'update', delete: 'delete' };
  return `${camelCase(last)}.${verbs[/** @type {keyof typeof verbs} */ (method)]}`;
};

/** @typedef {{ paths: Record<string, Record<string, Operation>>, components: { schemas: object } }} Document */
/** @typedef {Record<string, any>} Operation */

/** Whether the response is `{data, links, meta}`. @param {Operation} operation @param {Document} document */
const isListOf = ({ responses }, { components }) => {
  const reference = /** @type {any} */ (responses)?.[200]?.content?.['application/json']?.schema?.$ref;
  const schema = /** @type {any} */ (components.schemas)[String(reference).split('/').at(-1) ?? ''];
  return schema?.properties?.links !== undefined;
};

/** @param {Operation} operation */
const takesQuery = ({ parameters }) =>
  Array.isArray(parameters) && parameters.some((parameter) => parameter.in === 'query');

/**
 * Namespace → method → `[HTTP method, path, input]`, sorted.
 * The input is the method's argument after the path's id.
 * @param {Document} document
 * @returns {Record<string, Record<string, [string, string, string]>>}
 */
export const clientMethods = (document) => {
  const ids = new Set();
  /** @type {Map<string, [string, string, string]>} */
  const methods = new Map();
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item)) {
      const id = String(operation.operationId);
      ids.add(id);
      const isList = isListOf(operation, document);
      const listed = NAMES[id];
      if (listed === null) continue;
      const name = listed ?? ordinaryName(method, path, isList);
      if (methods.has(name)) throw new Error(`two operations are ${name}: name ${id} in client-names.json`);
      const sent = operation.requestBody !== undefined ? 'body' : takesQuery(operation) ? 'query' : 'none';
      methods.set(name, [method.toUpperCase(), path, isList ? 'list' : sent]);
    }
  const unknown = Object.keys(NAMES).filter((id) => !ids.has(id));
  if (unknown.length > 0)
    throw new Error(`client-names.json names unknown operations: ${unknown.join(', ')}`);
  const grouped = Map.groupBy([...methods].sort(), ([name]) => name.split('.')[0] ?? '');
  return Object.fromEntries(
    [...grouped].map(([namespace, all]) => [
      namespace,
      Object.fromEntries(all.map(([name, call]) => [name.split('.')[1] ?? '', call])),
    ]),
  );
};
