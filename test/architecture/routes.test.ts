import { bodyLimitOf } from '@fitness/shared/http/define-route.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { ROUTES as ACCESS_ROWS } from '../e2e/access-table.ts';
import { loadRouteTables, type Route } from './route-tables.ts';
import { read, SERVICES, sources } from './support.ts';

let tables: Map<string, Route[]>;

beforeAll(async () => {
  tables = await loadRouteTables();
});

const HOLE = String.raw`(?:\$\{[^}]*\}|[^/'"\`?#\s$]+)`;

/** Pattern for a string literal with this path and its parameters filled in. An origin and a query are optional. */
const literalOf = (path: string): RegExp => {
  const segments = path.split('/').map((part) => (part.startsWith(':') ? HOLE : part.replaceAll('.', '\\.')));
  const begin = String.raw`(?:['"\`](?:/api/v1)?|['"\`]\$\{[^}]*\}/(?:api/v1|internal)|\b(?:GET|POST|PUT|DELETE) )`;
  return new RegExp(String.raw`${begin}${segments.join('/')}(?:['"\`?#]|\$\{)`, 'g');
};

const REACH = 160;
const METHOD = /['"`](GET|POST|PUT|DELETE)(?:['"`]| (?=\/))/g;

/**
 * Whether the method matches: the nearest one before the path (`send('PUT', path)`, a table row, `'PUT /path'`), or the
 * one after it (`fetch(url, { method: 'PUT' })`).
 */
const exercises = (text: string, { method, path }: Route): boolean => {
  for (const literal of text.matchAll(literalOf(path))) {
    const before = text.slice(Math.max(0, literal.index - REACH), literal.index + 1);
    const behind = text.slice(literal.index, literal.index + literal[0].length + REACH);
    const isFetch = /\bfetch\(\s*$/.test(before.slice(0, -1));
    const named = isFetch
      ? (/\bmethod: ['"](\w+)['"]/.exec(behind)?.[1] ?? 'GET')
      : [...before.matchAll(METHOD)].at(-1)?.[1];
    if (named === method) return true;
  }
  return false;
};

describe('test coverage of routes', () => {
  test.each([...SERVICES])('every route of %s is exercised by a test', (service) => {
    const routes = tables.get(service) ?? [];
    // The usual tests, without the long ones and those of two replicas.
    const where = new RegExp(
      `^(?:services/${service}/test|gateway/test)/(?:(?!\\.long\\.).)+$|^test/e2e/.+\\.smoke\\.`,
    );
    const texts = sources.filter((file) => where.test(file)).map(read);
    const missing = routes.filter((route) => !texts.some((text) => exercises(text, route)));
    expect(routes.length).toBeGreaterThan(0);
    expectByRecipe(
      'endpoint',
      missing.map(({ method, path }) => `${method} ${path}`),
    );
  });
});

test('docs/access.md has one row for each route of the API', () => {
  const routes = [...tables.values()].flat().filter(({ isInternal }) => isInternal !== true);
  const names = routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  const rows = ACCESS_ROWS.map(({ route }) => route).toSorted();
  expectByRecipe('endpoint', rows, [...names, 'POST /mcp'].toSorted());
});

test('guests get slightly old responses only on reviewed routes', () => {
  const all = [...tables.values()].flat();
  const declared = all.filter(({ guestCache }) => guestCache === true);
  const names = declared.map(({ method, path }) => `${method} ${path}`);
  const reviewed = [
    ...read('docs/adr/0071-what-a-request-costs.md').matchAll(/^\| `(GET [^`]+)` +\| .{20,} \|$/gm),
  ];
  expect(names.length).toBeGreaterThan(0);
  expect(names.sort()).toEqual(reviewed.map(([, name]) => name).sort());
  expect(declared.filter(({ access }) => access !== 'guest')).toEqual([]);
});

test('a missing body is rejected with the names of its fields', () => {
  const routes = [...tables.values()].flat().filter(({ body }) => body !== undefined);
  const nameless = routes.filter(({ body }) =>
    body?.safeParse({}).error?.issues.some((issue) => issue.path.length === 0),
  );
  expect(routes.length).toBeGreaterThan(20);
  expectByRecipe(
    'endpoint',
    nameless.map(({ method, path }) => `${method} ${path}`),
  );
});

/** The fields of a body that get a value when a client omits them. */
const filledIn = (schema: z.ZodType | undefined, path: string): string[] => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return filledIn(schema.unwrap() as z.ZodType, path);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries<z.ZodType>(schema.shape).flatMap(([name, field]) =>
    field.safeParse(undefined).data === undefined ? filledIn(field, `${path}.${name}`) : [`${path}.${name}`],
  );
};

test('a change leaves every field that it omits as it is', () => {
  const changes = [...tables.values()].flat().filter(({ method }) => ['PUT', 'PATCH'].includes(method));
  expect(changes.length).toBeGreaterThan(8);
  const filled = changes.flatMap(({ method, path, body }) => filledIn(body, `${method} ${path}`));
  expectByRecipe('optional-field', filled);
});

/** Bytes of the longest JSON for `schema`, where a character can take six (`\\u0627`). */
const longestJson = (schema: JsonSchema): number => {
  const { type, properties = {}, items, maxItems, maxLength, pattern = '' } = schema;
  const alternatives = schema.anyOf ?? schema.enum?.map((value) => ({ const: value }));
  if (alternatives !== undefined) return Math.max(...alternatives.map(longestJson));
  if (schema.const !== undefined) return 6 * JSON.stringify(schema.const).length;
  if (type === 'object') {
    const fields = Object.entries(properties).map(
      ([name, value]) => 6 * name.length + 4 + longestJson(value) / (IN_ASCII.has(name) ? 6 : 1),
    );
    return 2 + fields.reduce((sum, bytes) => sum + bytes, 0);
  }
  // An array without a maximum length is limited by its possible items or by a refinement.
  if (type === 'array') return 2 + (maxItems ?? items?.enum?.length ?? 100) * (1 + longestJson(items ?? {}));
  if (type !== 'string') return MAX_NUMBER_LENGTH;
  const repeated = [...pattern.matchAll(/,(\d+)\}/g)].map(([, count]) => Number(count));
  return 2 + 6 * (maxLength ?? Math.max(MAX_UNTOLD_LENGTH, ...repeated));
};

interface JsonSchema {
  type?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  enum?: unknown[];
  const?: unknown;
  maxItems?: number;
  maxLength?: number;
  pattern?: string;
}

const MAX_NUMBER_LENGTH = 24;
/** Fields that accept only our own names. */
const IN_ASCII = new Set(['permissions']);
/** Limit for strings with their own format, such as times and ids. */
const MAX_UNTOLD_LENGTH = 64;

test('the body limit of every route fits its longest values', () => {
  const routes = [...tables.values()].flat().filter(({ body, rawBody }) => body !== undefined && !rawBody);
  const tooLow = routes.flatMap((route) => {
    const schema = z.toJSONSchema(route.body as z.ZodType, { io: 'input', unrepresentable: 'any' });
    const needed = longestJson(schema as JsonSchema);
    const limit = bodyLimitOf(route);
    return needed > limit ? [`${route.method} ${route.path}: ${limit} bytes instead of ${needed}`] : [];
  });
  expect(routes.length).toBeGreaterThan(20);
  expectByRecipe('endpoint', tooLow);
});

test('no two services serve the same route', () => {
  const all = [...tables.values()]
    .flat()
    .map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, ':id')}`);
  expect(all.filter((route, i) => all.indexOf(route) !== i)).toEqual([]);
});
