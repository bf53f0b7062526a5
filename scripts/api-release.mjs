/**
 * `npm run api:release`: writes the API document of this version to docs/api/openapi-<version>.json until CHANGELOG.md
 * dates the version. A test compares every later document with the newest of these files.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadApiDocument } from '../test/architecture/api-document.ts';
import { root } from './lib/paths.mjs';

const document = await loadApiDocument();
const { version } = document.info;
const file = join('docs/api', `openapi-${version}.json`);
if (readFileSync(join(root, 'CHANGELOG.md'), 'utf8').includes(`## [${version}] - unreleased`)) {
  writeFileSync(join(root, file), `${JSON.stringify(document, null, 1)}\n`);
  console.log(`Wrote ${file}.`);
} else {
  console.log(`${file} is unchanged: CHANGELOG.md has no unreleased section of ${version}.`);
}
