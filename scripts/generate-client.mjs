/**
 * `npm run client`: what clients get of the API document: the types of @fitness/client, and a Bruno collection in
 * docs/api/bruno. With `--check` nothing is written; it fails when they are not what would be written.
 */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadApiDocument } from '../test/architecture/api-document.ts';
import { brunoCollection } from './lib/bruno.mjs';
import { root } from './lib/paths.mjs';

const TYPES = 'packages/client/src/generated';
const COLLECTION = 'docs/api/bruno';

/** @typedef {Awaited<ReturnType<typeof loadApiDocument>>} ApiDocument */

/** @param {ApiDocument} document @returns {string} TypeScript */
function typesOf(document) {
  const directory = mkdtempSync(join(tmpdir(), 'fitness-client-'));
  try {
    const [source, target] = [join(directory, 'openapi.json'), join(directory, 'schema.ts')];
    writeFileSync(source, JSON.stringify(document));
    // A field with a default may still be left out of a request.
    const args = [source, '--output', target, '--default-non-nullable=false'];
    // It needs TypeScript 5, which is installed for this package alone.
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
      .filter(([, { parameters }]) => JSON.stringify(parameters ?? []).includes('"name":"idempotency-key"'))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  return `/** The operations that take an \`Idempotency-Key\`. */
export const IDEMPOTENT: ReadonlySet<string> = new Set(${JSON.stringify(names.sort(), null, 2)});
`;
}

const document = await loadApiDocument();
/** @type {Map<string, string>} contents by path */
const wanted = new Map([
  [`${TYPES}/schema.ts`, typesOf(document)],
  [`${TYPES}/idempotent.ts`, idempotentOf(document)],
  ...[...brunoCollection(document)].map(
    ([name, text]) => /** @type {[string, string]} */ ([`${COLLECTION}/${name}`, text]),
  ),
]);

/** @type {string[]} */
const present = [TYPES, COLLECTION].flatMap((directory) =>
  existsSync(join(root, directory))
    ? readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    : [],
);

if (process.argv.includes('--check')) {
  const stale = [...new Set([...wanted.keys(), ...present])].filter(
    (file) => !existsSync(join(root, file)) || readFileSync(join(root, file), 'utf8') !== wanted.get(file),
  );
  if (stale.length > 0) {
    console.error(`not up to date (run npm run client): ${stale.join(', ')}`);
    process.exit(1);
  }
} else {
  for (const directory of [TYPES, COLLECTION])
    rmSync(join(root, directory), { recursive: true, force: true });
  for (const [file, text] of wanted) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  console.log(`${wanted.size} files in ${TYPES} and ${COLLECTION}`);
}
