import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadApiDocument } from '../api-document.mjs';
import { root } from '../paths.mjs';

/**
 * The API document of this version, until CHANGELOG.md dates the version. A test compares every later document with the newest of these
 * files.
 * @returns {Promise<Record<string, string>>}
 */
export async function generate() {
  const document = await loadApiDocument();
  const { version } = document.info;
  const isReleased = !readFileSync(join(root, 'CHANGELOG.md'), 'utf8').includes(
    `## [${version}] - unreleased`,
  );
  return isReleased ? {} : { [`docs/api/openapi-${version}.json`]: `${JSON.stringify(document, null, 1)}\n` };
}
