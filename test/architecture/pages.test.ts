/** The session of a page may call exactly what the page calls. Routes declare it, and the page's sources show it. */
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, expect, test } from '@jest/globals';
import type { z } from 'zod';
import { loadRouteTables, type Route } from './route-tables.ts';
import { type Node, parse, productSources, read, walk } from './support.ts';

const PAGES = [
  { page: 'ops', sources: 'packages/ops/src/', columns: '`/ops`' },
  {
    page: 'account_deletion',
    sources: 'gateway/src/pages/account-deletion/',
    columns: '`/account-deletion`',
  },
] as const;

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

test.each(PAGES)(
  'the session of $page has access to exactly the paths that the page calls',
  ({ page, sources }) => {
    const text = productSources.filter((file) => file.startsWith(sources)).map(read);
    const called = [...new Set([...text, read('packages/shared/src/pages/visitor.ts')].flatMap(pathsIn))];
    const own = called.filter((path) => routesAt(path).length > 0 && path !== '/auth/login');
    const isOpen = ({ pages = [] }: Route): boolean => pages.includes(page);
    expect(own.length).toBeGreaterThan(2);
    expectByRecipe(
      'endpoint',
      own.filter((path) => !routesAt(path).some(isOpen)),
    );
    const declared = routes.filter(isOpen);
    const paths = new Set(own.flatMap(routesAt).map(({ path }) => path));
    expect(declared.map(({ path }) => path).filter((path) => !paths.has(path))).toEqual([]);
  },
);

/** The field names of an object. `${prefix}_approved` has each `prefix` that the file names. */
const namesIn = (object: unknown, nodes: readonly Node[]): string[] => {
  const names: string[] = [];
  walk(object, (node) => {
    if (node.type !== 'ObjectExpression') return;
    for (const property of node.properties as Node[]) {
      const key = (property.key ?? property) as Node;
      if (key.type === 'Identifier' || key.type === 'StringLiteral') names.push(String(key.value));
      else if (key.type === 'Computed') names.push(...templateNames(key.expression as Node, nodes));
      else if (key.type !== 'SpreadElement')
        throw new Error(`a field of a body is not readable: ${key.type}`);
    }
  });
  return names;
};

const templateNames = ({ expressions, quasis }: Node, nodes: readonly Node[]): string[] => {
  const [hole] = expressions as Node[];
  const [before, after] = (quasis as { raw: string }[]).map(({ raw }) => raw);
  return nodes
    .filter(({ type, key, value }) => isNamed(type, key, hole?.value) && isText(value))
    .map(({ value }) => `${before}${String((value as Node).value)}${after}`);
};
const isNamed = (type: string, key: unknown, name: unknown): boolean =>
  type === 'KeyValueProperty' && (key as Node).value === name;
const isText = (value: unknown): boolean => (value as Node).type === 'StringLiteral';

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
      const names = values.flatMap((value) => namesIn(value, nodes));
      if (names.length === 0) throw new Error(`${file}: a body is not readable`);
      return names;
    });
};

test.each(PAGES)(
  'the session of $page may send exactly the fields that the page sends',
  ({ page, sources }) => {
    const files = [
      ...productSources.filter((file) => file.startsWith(sources)),
      'packages/shared/src/pages/visitor.ts',
    ];
    const allowedBy = ({ pageFields, body }: Route): readonly string[] =>
      pageFields ?? Object.keys((body as z.ZodObject | undefined)?.shape ?? {});
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
    const open = routes.filter(({ pages = [], body }) => pages.includes(page) && body !== undefined);
    expect(open.length).toBeGreaterThan(0);
    for (const route of open) {
      const unsent = allowedBy(route).filter((name) => sent.get(route)?.has(name) !== true);
      expect([route.method, route.path, unsent]).toEqual([route.method, route.path, []]);
    }
  },
);

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
