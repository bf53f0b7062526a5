/** Descriptions of operations besides their schemas: responses, headers, parameters, tags and links. */
import { STATUS_CODES } from 'node:http';
import LINKS from './operation-links.json' with { type: 'json' };
import texts from './operation-texts.json' with { type: 'json' };
import type { Json } from './schema.ts';

type Texts = Readonly<Record<string, string>>;
/** Texts by status, for responses that the schema of the route does not describe. */
const RESPONSES: Texts = texts.responses;
/** Tags in the order of the document, with their descriptions. A test compares them with the tags of the routes. */
export const TAGS: Texts = texts.tags;
/** Texts by name, for parameters that the schema of the route does not describe. */
const PARAMETERS: Texts = texts.parameters;
/** Texts for fields that mean the same in every resource, unless the schema describes them. */
const FIELDS: Texts = texts.fields;

const text = { type: 'string' };
const seconds = { type: 'integer', format: 'int32', minimum: 0 };
const count = { type: 'integer', format: 'int32', minimum: 0 };

const RETRY_AFTER = {
  description: 'Seconds to wait before a retry',
  schema: seconds,
};

export const responseText = (status: string): string => RESPONSES[status] ?? STATUS_CODES[status] ?? status;

/** Response headers by status. */
const HEADERS: Readonly<Record<string, Record<string, Json>>> = {
  401: { 'WWW-Authenticate': { description: 'Authentication scheme: `Bearer`', schema: text } },
  403: {
    'WWW-Authenticate': {
      description:
        'Sent if an OAuth token lacks a scope that its user could grant: `Bearer error="insufficient_scope", scope="…"`',
      schema: text,
    },
  },
  429: {
    'Retry-After': RETRY_AFTER,
    'X-RateLimit-Limit': {
      description: 'Number of requests allowed in the time window',
      schema: count,
    },
    'X-RateLimit-Remaining': { description: 'Number of requests left in the time window: 0', schema: count },
  },
  503: { 'Retry-After': RETRY_AFTER },
};

const DOWNLOAD_HEADERS = {
  ETag: { description: 'Version of the file, for `If-None-Match` and `If-Range`', schema: text },
  'Content-Disposition': { description: '`attachment`, with the name of the file', schema: text },
};

export const headersOf = (operationId: string, status: string): Record<string, Json> | undefined =>
  operationId.startsWith('getMedia') && ['200', '206'].includes(status) ? DOWNLOAD_HEADERS : HEADERS[status];

/** Undefined for an unknown name. A test reports such names. */
export const parameterText = (name: string): string | undefined => PARAMETERS[name];

/** Undefined for an unknown name. */
export const fieldText = (name: string): string | undefined => FIELDS[name];

/**
 * The links of one response to operations that continue with its id. `at` points to the id, and `to` lists operations that take it in their
 * path. Operations that the document lacks are left out.
 */
export const linksOf = (
  operationId: string,
  status: string,
  operationIds: ReadonlySet<string>,
): Record<string, Json> | undefined => {
  const matches = LINKS.filter((link) => link.operation === operationId && link.status === status);
  const links = matches.flatMap(({ at, to }) =>
    to
      .filter((target) => operationIds.has(target))
      .map((target) => [target, { operationId: target, parameters: { id: `$response.body#${at}` } }]),
  );
  return links.length === 0 ? undefined : Object.fromEntries(links);
};
