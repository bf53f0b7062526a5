/** Makes one OpenAPI document of the services' own. Pure: no document is changed. */
import { isDeepStrictEqual } from 'node:util';
import { findTarget, type Service } from './routes.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };
type Schemas = Record<string, Json>;
type Operation = { tags?: string[] } & Record<string, Json | undefined>;

/** What is read of a service's document; the rest of it is not carried over. */
export interface ServiceDocument {
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Schemas };
}

export interface ApiDocument {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: Record<string, Json>; schemas: Schemas };
}

const REFERENCE = '#/components/schemas/';

/** Every reference to a named schema, with its name replaced. */
const mapReferences = (value: Json, rename: (name: string) => string): Json => {
  if (Array.isArray(value)) return value.map((entry) => mapReferences(entry, rename));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, entry]) => {
    if (key === '$ref' && typeof entry === 'string' && entry.startsWith(REFERENCE)) {
      return [key, `${REFERENCE}${rename(entry.slice(REFERENCE.length))}`];
    }
    return [key, entry === undefined ? undefined : mapReferences(entry, rename)];
  });
  return Object.fromEntries(entries);
};

const referencesOf = (schema: Json): Set<string> => {
  const names = new Set<string>();
  mapReferences(schema, (name) => {
    names.add(name);
    return name;
  });
  return names;
};

/**
 * The names that do not mean the same in every document that has them: their schemas differ, or lead to one that
 * does.
 */
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

/** The services do not agree on capitals and hyphens. */
const tagName = (tag: string): string => {
  const words = tag.replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const describeOperation = (operation: Operation): Operation => ({
  ...operation,
  ...(operation.tags === undefined ? {} : { tags: operation.tags.map(tagName) }),
});

/** A path of a document as a path: its parameters stand for themselves. */
const isRoutedTo = (service: Service, path: string): boolean =>
  findTarget(path.replaceAll(/[{}]/g, ''))?.service === service;

/**
 * One document: the paths that are routed to the service that describes them, and the named schemas of all. A name
 * that does not mean the same everywhere gets the service's name before it.
 */
export const mergeDocuments = (
  documents: ReadonlyMap<Service, ServiceDocument>,
  publicBaseUrl: string,
): ApiDocument => {
  const conflicts = findConflicts(documents.values());
  const paths: ApiDocument['paths'] = {};
  const schemas: Schemas = {};
  const tags = new Set<string>();
  for (const [service, document] of documents) {
    const rename = (name: string): string => (conflicts.has(name) ? `${pascalCase(service)}${name}` : name);
    for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
      schemas[rename(name)] = mapReferences(schema, rename);
    }
    for (const [path, item] of Object.entries(document.paths ?? {})) {
      if (!isRoutedTo(service, path)) continue;
      const renamed = mapReferences(item as Json, rename) as Record<string, Operation>;
      const operations = Object.entries(renamed).map(([method, operation]) => [
        method,
        describeOperation(operation),
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
      version: '1',
      description:
        'Users, gyms, posts, training services, payments and purchases of a fitness platform. Timestamps are ' +
        '`YYYY-MM-DD HH:MM:SS` in UTC, amounts are whole Tooman, texts follow `Accept-Language` (`en`, `fa`).',
    },
    servers: [{ url: publicBaseUrl }],
    tags: [...tags].sort().map((name) => ({ name })),
    paths: sortByKey(paths),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: sortByKey(schemas),
    },
  };
};

const sortByKey = <Value>(record: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
