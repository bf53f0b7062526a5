/**
 * The public OpenAPI document. `npm run generate` writes it from the declarations of all routes, so it is whole even while services
 * do not respond. The image of the product contains it: see Dockerfile and .dockerignore.
 */
import { readFileSync } from 'node:fs';
import { etagOf } from '@fitness/shared/http/caching.ts';
import { encodedOnce } from '@fitness/shared/http/compression.ts';
import { API_VERSION, DOCUMENT_ORIGIN } from './openapi-merge.ts';

/** Path relative to the root of the repository. */
export const DOCUMENT_FILE = `docs/api/openapi-${API_VERSION}.json`;

export interface OpenapiDocument {
  /** Length of the JSON in bytes. */
  bytes: number;
  etag: string;
  send: ReturnType<typeof encodedOnce>;
  /** Paths, of which those with ids are templates. */
  paths: ReadonlySet<string>;
}

/** The document with the public origin `baseUrl`, encoded once for all clients. */
export const readOpenapi = (baseUrl: string): OpenapiDocument => {
  const text = readFileSync(new URL(`../../../${DOCUMENT_FILE}`, import.meta.url), 'utf8');
  const document: { paths: object } = JSON.parse(text.replaceAll(DOCUMENT_ORIGIN, baseUrl));
  const json = Buffer.from(JSON.stringify(document));
  const paths = new Set(Object.keys(document.paths));
  return { bytes: json.length, etag: etagOf(json), send: encodedOnce(json), paths };
};
