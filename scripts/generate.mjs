/**
 * `npm run generate`: writes the files that are made from the sources, where they have changed. `npm run generate client erasure` makes
 * only these. With `--check` it writes nothing, and fails if a file is out of date.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeTypes } from './lib/generate/types.mjs';
import { root } from './lib/paths.mjs';
import { stopwatch } from './lib/time.mjs';

/**
 * A generator returns file contents by path; a file without content is to be removed.
 * @typedef {Record<string, string | undefined>} Files
 * @typedef {() => Promise<{ generate: () => Files | Promise<Files> }>} Generator
 */

/**
 * They run in this order: the error codes are a part of the client and of the API document, so these are loaded after the codes are written.
 * @type {Record<string, Generator>}
 */
const generators = {
  settings: () => import('../test/architecture/generated/settings.ts'),
  alerts: () => import('../test/architecture/generated/alerts.ts'),
  erasure: () => import('../test/architecture/generated/erasure.ts'),
  indexes: () => import('../test/architecture/generated/indexes.ts'),
  'shard-keys': () => import('../test/architecture/generated/shard-keys.ts'),
  'process-access': () => import('../test/architecture/generated/process-access.ts'),
  notice: () => import('../test/architecture/generated/notice.ts'),
  'error-codes': () => import('../test/architecture/generated/error-codes.ts'),
  client: () => import('./lib/generate/client.mjs'),
  'api-document': () => import('./lib/generate/api-document.mjs'),
};

/** @param {string} file */
const contentOf = (file) =>
  existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined;

/** Replaces a file at once, because others may be reading it. @param {string} file @param {string | undefined} text */
function write(file, text) {
  const path = join(root, file);
  if (text === undefined) return rmSync(path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

const isCheck = process.argv.includes('--check');
const names = process.argv.slice(2).filter((argument) => argument !== '--check');
const unknown = names.find((name) => !(name in generators));
if (unknown !== undefined) {
  console.error(`npm run generate takes ${Object.keys(generators).join(', ')}; not "${unknown}".`);
  process.exit(1);
}

for (const [name, load] of Object.entries(generators)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const elapsed = stopwatch();
  const { generate } = await load();
  const changed = Object.entries(await generate()).filter(([file, text]) => contentOf(file) !== text);
  const list = changed.map(([file]) => file).join(', ');
  if (isCheck && changed.length > 0) {
    console.error(`Not up to date (npm run generate ${name}): ${list}`);
    process.exitCode = 1;
  } else if (!isCheck) {
    for (const [file, text] of changed) write(file, text);
    console.log(`${name.padEnd(14)} ${elapsed().padStart(6)}  ${list || 'unchanged'}`);
  }
}
// The types of the client are made from the API document.
if (!isCheck && (names.length === 0 || names.includes('api-document'))) writeTypes();
