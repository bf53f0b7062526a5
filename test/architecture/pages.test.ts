/** The session of a page may call what the page calls: the routes declare it, and the sources of the page show it. */
import { beforeAll, expect, test } from '@jest/globals';
import { loadRouteTables, type Route } from './route-tables.ts';
import { productSources, read } from './support.ts';

const PAGES = [
  { page: 'ops', sources: 'gateway/src/ops/', columns: '`/ops`' },
  { page: 'account_deletion', sources: 'gateway/src/account-deletion/', columns: '`/account-deletion`' },
] as const;

let routes: Route[];
beforeAll(async () => {
  routes = [...(await loadRouteTables()).values()].flat();
});

/** A path in a string or template, up to its query; what is filled in is `:id`. */
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
/** Of several routes, the one that names the most: `/users/license-reviews` is not `/users/:id`. */
const routesAt = (path: string): Route[] => {
  const fitting = routes.filter((route) => isPath(route, path));
  const holes = ({ path: own }: Route): number => own.split('/:').length;
  const fewest = Math.min(...fitting.map(holes));
  return fitting.filter((route) => holes(route) === fewest);
};

test.each(PAGES)(
  'the session of $page has access to the paths that it calls, and to no others',
  ({ page, sources }) => {
    const text = productSources.filter((file) => file.startsWith(sources)).map(read);
    const called = [...new Set([...text, read('gateway/src/pages/api.ts')].flatMap(pathsIn))];
    const own = called.filter((path) => routesAt(path).length > 0 && path !== '/auth/login');
    const isOpen = ({ pages = [] }: Route): boolean => pages.includes(page);
    expect(own.length).toBeGreaterThan(2);
    expect(own.filter((path) => !routesAt(path).some(isOpen))).toEqual([]);
    const declared = routes.filter(isOpen);
    const paths = new Set(own.flatMap(routesAt).map(({ path }) => path));
    expect(declared.map(({ path }) => path).filter((path) => !paths.has(path))).toEqual([]);
  },
);

test.each(PAGES)('docs/access.md has the routes of the session of $page', ({ page, columns }) => {
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
  expect(listed.toSorted()).toEqual(declared.toSorted());
});
