/**
 * `npm run api:release`: keeps the document of the API of this release, as docs/api/openapi-<version>.json. A test compares
 * every later document with the newest of them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadApiDocument } from '../test/architecture/api-document.ts';
import { root } from './lib/paths.mjs';

const document = await loadApiDocument();
const file = join('docs/api', `openapi-${document.info.version}.json`);
writeFileSync(join(root, file), `${JSON.stringify(document, null, 1)}\n`);
console.log(`Wrote ${file}.`);
