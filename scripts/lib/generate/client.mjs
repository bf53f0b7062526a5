import { join } from 'node:path';
import { KNOWN_VALUES } from '../../../gateway/src/api/client-schemas.ts';
import { ERROR_CATALOGUE } from '../../../gateway/src/api/error-catalogue.ts';
import { loadApiDocument } from '../api-document.mjs';
import { clientMethods } from './client-methods.mjs';

const TARGET = 'packages/client/src/generated';

/** @typedef {Awaited<ReturnType<typeof loadApiDocument>>} ApiDocument */

/** @param {ApiDocument['paths'][string][string]} operation */
const takesIdempotencyKey = ({ parameters }) =>
  /** @type {{ name: string }[]} */ (parameters ?? []).some(({ name }) => name === 'idempotency-key');

/** @param {ApiDocument} document @returns {string} TypeScript */
function idempotentOf(document) {
  const names = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => takesIdempotencyKey(operation))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  return `/** The operations that accept an \`Idempotency-Key\`. */
export const IDEMPOTENT: ReadonlySet<string> = new Set(${JSON.stringify(names.sort(), null, 2)});
`;
}

/** @param {ApiDocument} document @returns {string} TypeScript */
function knownValuesOf(document) {
  const codes = new Set(ERROR_CATALOGUE.flatMap(({ code }) => (code === null ? [] : [code])));
  /** @param {Iterable<string>} values */
  const union = (values) => [...values].map((value) => JSON.stringify(value)).join(' | ');
  /** @type {Record<string, { properties?: Record<string, { [KNOWN_VALUES]?: string[] }> }>} */
  const schemas = Object(document.components.schemas);
  const rows = Object.entries(schemas).flatMap(([name, { properties = {} }]) => {
    const fields = Object.entries(properties).flatMap(([field, { [KNOWN_VALUES]: values }]) =>
      values === undefined ? [] : [`${field}: ${union(values)}`],
    );
    return fields.length === 0 ? [] : [`  ${name}: { ${fields.join('; ')} };`];
  });
  return `/** Every error \`code\` of this release. */
export type KnownErrorCode =
  | ${union([...codes].sort()).replaceAll(' | ', '\n  | ')};

/** The values of open text fields in this release, by schema and field. A later release may add values. */
export interface KnownValues {
${rows.join('\n')}
}
`;
}

/** @param {ApiDocument} document @returns {string} TypeScript */
function methodsOf(document) {
  return `/** Methods by namespace and name: the HTTP method, the path, and the input after the path's id. */
export const METHODS = ${JSON.stringify(clientMethods(document), null, 2)} as const;
`;
}

/** What @fitness/client runs on, from the API document. */
export async function generate() {
  const document = await loadApiDocument();
  return {
    [join(TARGET, 'idempotent.ts')]: idempotentOf(document),
    [join(TARGET, 'known-values.ts')]: knownValuesOf(document),
    [join(TARGET, 'methods.ts')]: methodsOf(document),
  };
}
