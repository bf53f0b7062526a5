/**
 * The session of a page may call exactly what the page calls. Routes declare it. `/ops` declares its calls, and the sources of
 * `/account-deletion` show them.
 */
import { type Declaration, declaredCalls } from '@fitness/ops/call.ts';
import '@fitness/ops/routes.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, expect, test } from '@jest/globals';
import type { z } from 'zod';
import { loadRouteTables, type Route } from './route-tables.ts';
import { type Node, parse, productSources, read, walk } from './support.ts';

const PAGES = [
  { page: 'ops', columns: '`/ops`' },
  { page: 'account_deletion', columns: '`/account-deletion`' },
] as const;
const DELETION_SOURCES = 'gateway/src/pages/account-deletion/';
/** The calls for the session of any page. */
const SESSION_SOURCE = 'packages/shared/src/pages/visitor.ts';

let routes: Route[];
beforeAll(async () => {
  routes = [...(await loadRouteTables()).values()].flat();
});

/** A path in a string or template, up to its query. Placeholders become `:id`. */
const PATH = /['"`](\/[a-z][a-z-]*(?:\/(?:[a-z-]+|\$\{[^}]*\}))*)(?=['"`?$])/g;
const pathsIn = (text: string): string[] =>
  [...text.matchAll(PATH)].map(([, path = '']) => path.replaceAll(/\$\{[^}]*\}/g, ':id'));

const isPath = (route: Route, path: string): boolean => {
  const segments = path.split('/');
  const own = route.path.split('/');
  return (
    own.length === segments.length &&
    own.every((part, index) => part === segments[index] || part.startsWith(':'))
  );
};
/** The most specific routes for a path: `/users/license-reviews` is not `/users/:id`. */
const routesAt = (path: string): Route[] => {
  const fitting = routes.filter((route) => isPath(route, path));
  const holes = ({ path: own }: Route): number => own.split('/:').length;
  const fewest = Math.min(...fitting.map(holes));
  return fitting.filter((route) => holes(route) === fewest);
};

const isOpenTo =
  (page: string) =>
  ({ pages = [] }: Route): boolean =>
    pages.includes(page);
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
/** The calls that the pages of all sessions make, except the sign-in, which has no session. */
const sessionPaths = (): string[] => pathsIn(read(SESSION_SOURCE)).filter((path) => path !== '/auth/login');

const routeOf = ({ operation }: Declaration): Route | undefined => {
  const [method, path = ''] = operation.split(' ');
  return routes.find(
    (route) => route.method === method && route.path === path.replaceAll(/\{(\w+)\}/g, ':$1'),
  );
};
/** What the runtime adds to every service is in no table of routes. */
const ofEachService = ({ operation }: Declaration): boolean => operation.includes(' /operations');

test('the session of ops has access to exactly the calls that /ops declares', () => {
  const declared = declaredCalls().filter((declaration) => !ofEachService(declaration));
  expect(declared.length).toBeGreaterThan(20);
  const missing = declared.filter((declaration) => routeOf(declaration) === undefined);
  expect(missing.map(({ operation }) => operation)).toEqual([]);
  const called = [...declared.map(routeOf), ...sessionPaths().flatMap(routesAt)];
  const names = new Set(called.flatMap((route) => (route === undefined ? [] : [nameOf(route)])));
  const open = new Set(routes.filter(isOpenTo('ops')).map(nameOf));
  expectByRecipe('endpoint', [...names].toSorted(), [...open].toSorted());
});

test('/ops makes no call that it does not declare', () => {
  const calling = productSources.filter(
    (file) => file.startsWith('packages/ops/src/') && /\.(?:api|internal)\(/.test(read(file)),
  );
  expect(calling).toEqual(['packages/ops/src/call.ts']);
});

test('a permission that /ops declares for a call is one that its route checks', () => {
  for (const declaration of declaredCalls()) {
    const { permissions = [], alsoNeeds = [], fieldPermissions = {} } = routeOf(declaration) ?? {};
    const checked = [...permissions, ...alsoNeeds, ...Object.values(fieldPermissions)];
    const unknown = declaration.permissions.filter((one) => !checked.includes(one));
    // A route without a permission shows more of a resource to callers who have one.
    if (checked.length > 0) expect([declaration.operation, unknown]).toEqual([declaration.operation, []]);
  }
});

test('the session of ops may send exactly the fields that /ops declares', () => {
  const sent = new Map<Route, readonly string[]>();
  for (const declaration of declaredCalls()) {
    const route = routeOf(declaration);
    if (route?.body !== undefined) sent.set(route, [...declaration.fields, ...(sent.get(route) ?? [])]);
  }
  expect(sent.size).toBeGreaterThan(5);
  for (const [route, fields] of sent)
    expect([nameOf(route), fields.toSorted()]).toEqual([nameOf(route), allowedBy(route).toSorted()]);
});

test('the session of account_deletion has access to exactly the paths that the page calls', () => {
  const text = productSources.filter((file) => file.startsWith(DELETION_SOURCES)).map(read);
  const own = [...new Set([...text.flatMap(pathsIn), ...sessionPaths()])].filter(
    (path) => routesAt(path).length > 0,
  );
  expect(own.length).toBeGreaterThan(2);
  const isOpen = isOpenTo('account_deletion');
  expectByRecipe(
    'endpoint',
    own.filter((path) => !routesAt(path).some(isOpen)),
  );
  const paths = new Set(own.flatMap(routesAt).map(({ path }) => path));
  const open = routes.filter(isOpen).map(({ path }) => path);
  expect(open.filter((path) => !paths.has(path))).toEqual([]);
});

/** The fields that the session of a page may send. */
const allowedBy = ({ pageFields, body }: Route): readonly string[] =>
  pageFields ?? Object.keys((body as z.ZodObject | undefined)?.shape ?? {});

/** The field names of an object. */
const namesIn = (object: unknown): string[] => {
  const names: string[] = [];
  walk(object, (node) => {
    if (node.type !== 'ObjectExpression') return;
    for (const property of node.properties as Node[]) {
      const key = (property.key ?? property) as Node;
      if (key.type === 'Identifier' || key.type === 'StringLiteral') names.push(String(key.value));
      else if (key.type !== 'SpreadElement')
        throw new Error(`a field of a body is not readable: ${key.type}`);
    }
  });
  return names;
};

/** The fields of all bodies that a source file sends. */
const fieldsSentIn = (file: string): string[] => {
  const { nodes } = parse(file);
  const propertyOf = (object: Node, name: string): Node | undefined =>
    (object.properties as Node[]).find(
      (property) => property.value === name || (property.key as Node | undefined)?.value === name,
    );
  const variables = nodes.filter(
    ({ type, id }) => type === 'VariableDeclarator' && (id as Node).value === 'body',
  );
  return nodes
    .filter((node) => node.type === 'ObjectExpression' && propertyOf(node, 'method') !== undefined)
    .flatMap((call) => {
      const body = propertyOf(call, 'body');
      if (body === undefined) return [];
      // In shorthand, the value is any variable of this name in the file.
      const values = body.type === 'Identifier' ? variables.map(({ init }) => init) : [body.value];
      const names = values.flatMap(namesIn);
      if (names.length === 0) throw new Error(`${file}: a body is not readable`);
      return names;
    });
};

test('the session of account_deletion may send exactly the fields that the page sends', () => {
  const files = [...productSources.filter((file) => file.startsWith(DELETION_SOURCES)), SESSION_SOURCE];
  const sent = new Map<Route, Set<string>>();
  for (const file of files) {
    const called = [...new Set(pathsIn(read(file)))].flatMap(routesAt);
    const names = fieldsSentIn(file);
    // Internal routes of every service are not in the tables.
    if (called.some(({ body }) => body !== undefined)) {
      const allowed = new Set(called.flatMap(allowedBy));
      expect([file, names.filter((name) => !allowed.has(name))]).toEqual([file, []]);
    }
    for (const route of called) sent.set(route, new Set([...(sent.get(route) ?? []), ...names]));
  }
  const open = routes.filter((route) => isOpenTo('account_deletion')(route) && route.body !== undefined);
  expect(open.length).toBeGreaterThan(0);
  for (const route of open) {
    const unsent = allowedBy(route).filter((name) => sent.get(route)?.has(name) !== true);
    expect([nameOf(route), unsent]).toEqual([nameOf(route), []]);
  }
});

test.each(PAGES)('docs/access.md lists the routes of the session of $page', ({ page, columns }) => {
  const lines = read('docs/access.md').split('\n');
  const head = lines.find((line) => line.startsWith('| route ')) ?? '';
  const at = head.split('|').findIndex((cell) => cell.trim() === columns);
  expect(at).toBeGreaterThan(0);
  const listed = lines
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells[at] === 'yes')
    .map((cells) => (cells[1] ?? '').replaceAll('`', ''));
  const declared = routes
    .filter(({ pages = [], isInternal }) => pages.includes(page) && isInternal !== true)
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  expectByRecipe('endpoint', listed.toSorted(), declared.toSorted());
});
