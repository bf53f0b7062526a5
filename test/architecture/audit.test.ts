/** Every operator action is in the audit log. No route, action or test may be missing. */
import { AUDIT_ACTIONS } from '@fitness/shared/audit/actions.ts';
import { OPERATOR_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { beforeAll, expect, test } from '@jest/globals';
import { loadRouteTables, type Route } from './route-tables.ts';
import { productSources, read } from './support.ts';

let tables: Map<string, Route[]>;

beforeAll(async () => {
  tables = await loadRouteTables();
});

const isOfOperators = ({ permissions = [], alsoNeeds = [] }: Route): boolean =>
  [...permissions, ...alsoNeeds].some((permission) =>
    (OPERATOR_PERMISSIONS as ReadonlySet<string>).has(permission),
  );

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

/** Routes that admit operators by the permission for the target, which the use case checks. */
const DECIDED_LATER = ['POST /media', 'DELETE /media/:id', 'GET /media/:id', 'GET /media/:id/:filename'];

test('every route where operators change something or see a private document names its audit entries', () => {
  const routes = [...tables.values()].flat();
  const changing = routes.filter((route) => route.method !== 'GET' && isOfOperators(route));
  const others = routes.filter((route) => DECIDED_LATER.includes(nameOf(route)));
  expect(changing.length).toBeGreaterThan(15);
  expect(others).toHaveLength(DECIDED_LATER.length);
  const without = [...changing, ...others].filter(({ audits = [] }) => audits.length === 0);
  expectByRecipe('operator-action', without.map(nameOf));
});

/** Actions of a command or an authorization form rather than of a route. */
const OF_OTHERS: Readonly<Record<string, { source: string; test: string }>> = {
  'app.connect': {
    source: 'services/identity/src/oauth/interactions.ts',
    test: 'services/identity/test/audit-log.test.ts',
  },
  'dead_letters.replay': {
    source: 'packages/shared/src/runtime/dead-letter-cli.ts',
    test: 'packages/shared/test/runtime/dead-letter-cli.test.ts',
  },
  'dead_letters.purge': {
    source: 'packages/shared/src/runtime/dead-letter-cli.ts',
    test: 'packages/shared/test/runtime/dead-letter-cli.test.ts',
  },
};

const sourcesOf = (service: string): string =>
  productSources
    .filter((file) => file.startsWith(`services/${service}/src/app/`))
    .map(read)
    .join('\n');

test.each([...AUDIT_ACTIONS])(
  'the action %s belongs to one service, which records and tests it',
  (action) => {
    const other = OF_OTHERS[action];
    if (other !== undefined) {
      expect([read(other.source).includes(`'${action}'`), read(other.test).includes(`'${action}'`)]).toEqual([
        true,
        true,
      ]);
      return;
    }
    const services = [...tables].filter(([, routes]) =>
      routes.some(({ audits = [] }) => audits.includes(action)),
    );
    const owners = services.map(([service]) => service);
    expectByRecipe('operator-action', owners, [expect.any(String)]);
    const service = services[0]?.[0] ?? '';
    expect(sourcesOf(service)).toContain(`'${action}'`);
    expect(read(`services/${service}/test/audit-log.test.ts`)).toContain(`'${action}'`);
  },
);
