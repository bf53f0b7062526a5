/**
 * `npm run client`: generates the types of @fitness/client from the API document. With `--check` it writes nothing, and fails if
 * the generated files are out of date.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KNOWN_VALUES } from '../gateway/src/api/client-schemas.ts';
import { takesIdempotencyKey } from '../gateway/src/api/code-samples.ts';
import { ERROR_CATALOGUE } from '../gateway/src/api/error-catalogue.ts';
import { loadApiDocument } from '../test/architecture/api-document.ts';
import { clientMethods } from './lib/client-methods.mjs';
import { root } from './lib/paths.mjs';

const TYPES = join(root, 'packages/client/src/generated');

/** @typedef {Awaited<ReturnType<typeof loadApiDocument>>} ApiDocument */

/** @param {ApiDocument} document @returns {string} TypeScript */
function typesOf(document) {
  const directory = mkdtempSync(join(tmpdir(), 'fitness-client-'));
  try {
    const [source, target] = [join(directory, 'openapi.json'), join(directory, 'schema.ts')];
    writeFileSync(source, JSON.stringify(document));
    // A request may omit a field with a default.
    const args = [source, '--output', target, '--default-non-nullable=false'];
    // The tool needs TypeScript 5, which is installed for this package alone.
    execFileSync(join(root, 'packages/client/node_modules/.bin/openapi-typescript'), args, {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return readFileSync(target, 'utf8');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

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

const document = await loadApiDocument();
const files = Object.entries({
  'schema.ts': typesOf(document),
  'idempotent.ts': idempotentOf(document),
  'known-values.ts': knownValuesOf(document),
  'methods.ts': methodsOf(document),
});

if (process.argv.includes('--check')) {
  const stale = files.filter(([name, text]) => readFileSync(join(TYPES, name), 'utf8') !== text);
  if (stale.length > 0) {
    console.error(
      `These files are not up to date. Run npm run client: ${stale.map(([name]) => name).join(', ')}`,
    );
    process.exit(1);
  }
} else {
  for (const [name, text] of files) writeFileSync(join(TYPES, name), text);
  console.log(`Wrote ${files.length} files to packages/client/src/generated.`);
}
