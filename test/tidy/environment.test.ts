import { beforeAll, expect, jest, test } from '@jest/globals';
import type { z } from 'zod';
import { exists, files, parse, productSources, read, SERVICES, walk } from './support.ts';

const EXAMPLE = '.env.example';
const shared = '@fitness/shared/config.ts';

interface Variable {
  reader: string;
  name: string;
  field: z.ZodType;
}

const variables: Variable[] = [];

/** Every reader of every config.ts is asked once, and the schemas that it hands to `parseConfig` are kept. */
beforeAll(async () => {
  const real = await import('@fitness/shared/config.ts');
  let reader = '';
  jest.unstable_mockModule(shared, () => ({
    ...real,
    parseConfig: (schema: z.ZodObject, env: Record<string, string | undefined>) => {
      for (const [name, field] of Object.entries(schema.shape)) {
        variables.push({ reader, name, field: field as z.ZodType });
      }
      return real.parseConfig(schema, env);
    },
  }));
  const owners = [...SERVICES.map((service) => `services/${service}`), 'gateway'];
  for (const owner of owners.filter((name) => exists(`${name}/src/config.ts`))) {
    const module = (await import(`../../${owner}/src/config.ts`)) as Record<string, unknown>;
    for (const [name, read] of Object.entries(module)) {
      if (typeof read !== 'function' || !/^(?:read|load)\w*Config$/.test(name)) continue;
      reader = owner;
      try {
        (read as (env: object) => unknown)({});
      } catch (error) {
        expect((error as Error).name).toBe('ConfigError');
      }
    }
  }
});

/** Name → the values it is shown with, one for each process where the defaults differ; comments count as shown. */
const documented = (): Map<string, string[]> => {
  const shown = new Map<string, string[]>();
  if (!exists(EXAMPLE)) return shown;
  for (const line of read(EXAMPLE).split('\n')) {
    const [, name, value] = /^(?:#\s*)?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const plain = value
      .replace(/\s+#.*$/, '')
      .replace(/^(["'])(.*)\1$/, '$2')
      .trim();
    shown.set(name, [...(shown.get(name) ?? []), plain]);
  }
  return shown;
};

test('every reader of a configuration was heard', () => {
  expect([...new Set(variables.map(({ reader }) => reader))].sort()).toEqual(
    [...SERVICES.map((service) => `services/${service}`), 'gateway'].sort(),
  );
});

test('every variable of a schema is in .env.example', () => {
  const shown = documented();
  const missing = new Map<string, Set<string>>();
  for (const { reader, name, field } of variables.filter((variable) => !shown.has(variable.name))) {
    const standard = field.safeParse(undefined);
    const line = `${name}=${standard.success ? JSON.stringify(standard.data ?? '') : '(required)'}`;
    missing.set(line, (missing.get(line) ?? new Set()).add(reader));
  }
  const lines = [...missing].map(([line, readers]) => `${line}  # ${[...readers].join(', ')}`);
  expect(lines.sort()).toEqual([]);
});

test('.env.example shows the default of every process', () => {
  const shown = documented();
  const wrong = variables.flatMap(({ reader, name, field }) => {
    const values = shown.get(name);
    const standard = field.safeParse(undefined);
    if (values === undefined || !standard.success) return [];
    const means = (value: string): unknown => {
      const parsed = value === '' ? field.safeParse(undefined) : field.safeParse(value);
      return parsed.success ? parsed.data : undefined;
    };
    // What has no default may be shown empty, or with an example.
    const fits = values.some((value) => JSON.stringify(means(value)) === JSON.stringify(standard.data));
    if (fits || standard.data === undefined) return [];
    return [`${name}: ${reader} takes ${JSON.stringify(standard.data)}, shown is ${values.join(', ')}`];
  });
  expect([...new Set(wrong)].sort()).toEqual([]);
});

/** Names read besides the services' schemas: by the sandbox, by commands, by what starts the processes. */
const readElsewhere = (): Set<string> => {
  const names = new Set<string>();
  for (const file of productSources.filter((name) => /(?:^|\/)config\.ts$|-cli\.ts$/.test(name))) {
    walk(parse(file).body, (node) => {
      if (node.type === 'Identifier' && /^[A-Z][A-Z0-9_]+$/.test(String(node.value)))
        names.add(String(node.value));
    });
  }
  for (const file of files.filter((name) => /^(?:scripts\/.*\.mjs|docker-compose.*\.ya?ml)$/.test(name))) {
    for (const [name] of read(file).matchAll(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g)) names.add(name);
    for (const [, name = ''] of read(file).matchAll(/process\.env\.([A-Z]+)\b/g)) names.add(name);
  }
  return names;
};

test('.env.example shows nothing that nobody reads', () => {
  const known = new Set([...variables.map(({ name }) => name), ...readElsewhere()]);
  expect([...documented().keys()].filter((name) => !known.has(name))).toEqual([]);
});

test('what the sandbox and the commands read is in .env.example', () => {
  const shown = documented();
  const missing: string[] = [];
  const sandbox = read('sandbox/src/config.ts');
  for (const [, name] of sandbox.matchAll(/^ {2}([A-Z][A-Z0-9_]*): z(?:\.|$)/gm)) {
    if (name !== undefined && !shown.has(name)) missing.push(`${name} (sandbox)`);
  }
  for (const file of productSources.filter((name) => name.endsWith('-cli.ts'))) {
    for (const [, name = ''] of read(file).matchAll(/process\.env\.([A-Z][A-Z0-9_]*)/g)) {
      if (!shown.has(name)) missing.push(`${name} (${file})`);
    }
  }
  expect(missing).toEqual([]);
});
