/** Merges the OpenAPI documents of the services. Does not modify them. */

import { isDeepStrictEqual } from 'node:util';
import { OAUTH_PATHS, OAUTH_SCOPES } from '@fitness/contracts/oauth.ts';
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { DEFAULT_LOCALE, translate } from '@fitness/shared/kernel/i18n/translate.ts';
import manifest from '../../package.json' with { type: 'json' };
import { findTarget, type Service } from '../request/routes.ts';
import { responseText } from './operations.ts';
import { isObject, type Json, REFERENCE, sortByKey } from './schema.ts';

type Schemas = Record<string, Json>;
export type Operation = { tags?: string[] } & Record<string, Json | undefined>;

/** The parts of a service's document that are used here. */
export interface ServiceDocument {
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Schemas };
}

/** Version of the API (docs/api) and of all packages. A breaking change requires a new major version. */
export const API_VERSION = manifest.version;

/** The public origin in the document, which the gateway replaces with its own. */
export const DOCUMENT_ORIGIN = 'https://api.example.com';

export interface ApiDocument {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: Record<string, Json>; schemas: Schemas; responses?: Record<string, Json> };
  /** Extensions. */
  [extension: `x-${string}`]: Json;
}

/** Renames every reference to a named schema. */
const rewrite = (value: Json, rename: (name: string) => string): Json => {
  if (Array.isArray(value)) return value.map((entry) => rewrite(entry, rename));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, entry]) => {
    if (key === '$ref' && typeof entry === 'string' && entry.startsWith(REFERENCE)) {
      return [key, `${REFERENCE}${rename(entry.slice(REFERENCE.length))}`];
    }
    return [key, entry === undefined ? undefined : rewrite(entry, rename)];
  });
  return Object.fromEntries(entries);
};

const referencesOf = (schema: Json): Set<string> => {
  const names = new Set<string>();
  rewrite(schema, (name) => {
    names.add(name);
    return name;
  });
  return names;
};

/** Names whose schemas differ between documents, or refer to such a name, directly or indirectly. */
const findConflicts = (documents: Iterable<ServiceDocument>): Set<string> => {
  const versions = Map.groupBy(
    [...documents].flatMap(({ components }) => Object.entries(components?.schemas ?? {})),
    ([name]) => name,
  );
  const shared = [...versions].filter(([, same]) => same.length > 1);
  const conflicts = new Set(
    shared
      .filter(([, same]) => same.some(([, schema]) => !isDeepStrictEqual(schema, same[0]?.[1])))
      .map(([name]) => name),
  );
  for (let before = -1; before !== conflicts.size; ) {
    before = conflicts.size;
    for (const [name, [first]] of shared) {
      if (first !== undefined && [...referencesOf(first[1])].some((reference) => conflicts.has(reference)))
        conflicts.add(name);
    }
  }
  return conflicts;
};

/** `store-billing` → `StoreBilling` */
const pascalCase = (service: string): string =>
  service.replaceAll(/(?:^|-)(\w)/g, (_match, letter: string) => letter.toUpperCase());

/** Unifies the tags of the services, which differ in capitals and hyphens. */
const tagName = (tag: string): string => {
  const words = tag.replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** `post`, `/api/v1/gyms/{id}/crowd` → `postGymsByIdCrowd` */
const operationId = (method: string, path: string): string =>
  path
    .slice(API_PREFIX.length)
    .replaceAll('{', 'by-')
    .split(/[^A-Za-z0-9]+/)
    .reduce((id, word) => `${id}${word.charAt(0).toUpperCase()}${word.slice(1)}`, method);

const describeResponses = (responses: Json | undefined): Json => {
  if (!isObject(responses)) return {};
  const described = Object.entries(responses).map(([status, response]) => {
    const isBare = isObject(response) && response.description === 'Default Response';
    return [status, isBare ? { ...response, description: responseText(status) } : response];
  });
  return Object.fromEntries(described);
};

const describeOperation = (method: string, path: string, operation: Operation): Operation => ({
  operationId: operationId(method, path),
  ...operation,
  ...(operation.tags === undefined ? {} : { tags: operation.tags.map(tagName) }),
  responses: describeResponses(operation.responses),
});

const oauthScheme: Json = {
  type: 'oauth2',
  description:
    'OAuth 2.1 for third-party apps: authorization code with PKCE (`S256`) and refresh tokens, without a client secret. An app ' +
    `registers itself at \`${OAUTH_PATHS.register}\` (RFC 7591). The metadata is at \`/.well-known/oauth-authorization-server\`. ` +
    '`x-oauth-scopes` of an operation lists alternatives that open it to apps; without it the operation is closed to them.',
  flows: {
    authorizationCode: {
      authorizationUrl: `${DOCUMENT_ORIGIN}${OAUTH_PATHS.authorize}`,
      tokenUrl: `${DOCUMENT_ORIGIN}${OAUTH_PATHS.token}`,
      refreshUrl: `${DOCUMENT_ORIGIN}${OAUTH_PATHS.token}`,
      scopes: Object.fromEntries(
        OAUTH_SCOPES.map((scope) => [
          scope,
          translate(DEFAULT_LOCALE, `oauth.scope.${scope}` as MessageKey).replace(/^./, (letter) =>
            letter.toUpperCase(),
          ),
        ]),
      ),
      // An extension for Scalar.
      'x-usePkce': 'SHA-256',
    },
  },
};

/** The schemas that `root` refers to, directly or indirectly. Services also describe unused input variants. */
const reachable = (root: Json, schemas: Schemas): Schemas => {
  const reached = new Set<string>();
  const visit = (value: Json): void => {
    for (const name of referencesOf(value)) {
      if (reached.has(name)) continue;
      reached.add(name);
      visit(schemas[name] ?? null);
    }
  };
  visit(root);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => reached.has(name)));
};

/** Whether the gateway routes a path of a document, e.g. `/api/v1/gyms/{id}`, to `service`. */
const isRoutedTo = (service: Service, path: string): boolean =>
  findTarget(path.replaceAll(/[{}]/g, ''))?.service === service;

/**
 * Merges the paths that are routed to the service describing them, and the named schemas of all services. A name with
 * different schemas gets the service as a prefix.
 */
export const mergeDocuments = (documents: ReadonlyMap<Service, ServiceDocument>): ApiDocument => {
  const conflicts = findConflicts(documents.values());
  const paths: ApiDocument['paths'] = {};
  const schemas: Schemas = {};
  const tags = new Set<string>();
  for (const [service, document] of documents) {
    const rename = (name: string): string => (conflicts.has(name) ? `${pascalCase(service)}${name}` : name);
    for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
      schemas[rename(name)] = rewrite(schema, rename);
    }
    for (const [path, item] of Object.entries(document.paths ?? {})) {
      if (!isRoutedTo(service, path)) continue;
      const renamed = rewrite(item as Json, rename) as Record<string, Operation>;
      const operations = Object.entries(renamed).map(([method, operation]) => [
        method,
        describeOperation(method, path, operation),
      ]);
      paths[path] = Object.fromEntries(operations);
      for (const { tags: names = [] } of Object.values(paths[path] ?? {}))
        for (const name of names) tags.add(name);
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fitness platform',
      version: API_VERSION,
      // Replaced by the introduction of `presentDocument`.
      description: '',
    },
    servers: [{ url: DOCUMENT_ORIGIN }],
    tags: [...tags].sort().map((name) => ({ name })),
    paths: sortByKey(paths),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'Token of a session (`POST /auth/login`), personal access token (`POST /auth/tokens`), or access token of an ' +
            'app that is connected by OAuth 2.1',
        },
        oauth: oauthScheme,
      },
      schemas: sortByKey(reachable(paths, schemas)),
    },
  };
};
