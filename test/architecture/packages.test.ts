/** `npm start` and the commands for operators run with the packages for production, because `npm start` installs no others. */
import { dirname } from 'node:path';
import { expect, test } from '@jest/globals';
import { processes } from '../../scripts/lib/process-definitions.mjs';
import { exists, importsOf, read, root } from './support.ts';

type LockedPackage = { dev?: boolean; devOptional?: boolean };
const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));
const { packages }: { packages: Record<string, LockedPackage | undefined> } = JSON.parse(
  read('package-lock.json'),
);

/** A package that is imported only by tests, which have all packages. */
const FOR_TESTS = { file: 'scripts/lib/servers/docker.mjs', name: 'testcontainers' };

/** The files whose path from the root is in a text: commands and scripts start them as processes. */
const filesIn = (text: string): string[] =>
  (text.match(/(?:[\w-]+\/)+[\w.-]+\.(?:ts|mjs)\b/g) ?? []).filter(exists);

/** The packages that each file imports, for these files and everything that they import or start. */
const importsFrom = (files: readonly string[], reached = new Map<string, string[]>()) => {
  for (const file of files.filter((each) => !reached.has(each))) {
    const imports = importsOf(file);
    reached.set(
      file,
      imports.filter((name) => /^(?:@[\w-]+\/)?[a-z][\w-]*(?:[./][\w./-]+)?$/.test(name) && !exists(name)),
    );
    const started = file.startsWith('scripts/') ? filesIn(read(file)) : [];
    importsFrom(
      [...imports.filter((name) => /\.(?:ts|mjs)$/.test(name) && exists(name)), ...started],
      reached,
    );
  }
  return reached;
};

/** The entry of an imported package in the lock file, found as Node finds the package. */
const entryOf = (name: string, from: string): LockedPackage | undefined => {
  const path = `node_modules/${name.split('/', name.startsWith('@') ? 2 : 1).join('/')}`;
  for (let directory = dirname(from); directory !== '.'; directory = dirname(directory)) {
    const entry = packages[`${directory}/${path}`];
    if (entry !== undefined) return entry;
  }
  return packages[path];
};

const forDevelopment =
  /^(?:\w+=\d+ )?node (?:scripts\/run\.mjs --include=dev|scripts\/test\.mjs|bench\/)|^git /;

test('npm start, the commands for operators and all processes import packages for production only', () => {
  const commands = Object.values(scripts).filter((command) => !forDevelopment.test(command));
  const mains = processes.map(({ main }) => main.slice(root.length + 1));
  const imports = [...importsFrom([...commands.flatMap(filesIn), ...mains])].flatMap(([file, names]) =>
    names.map((name) => ({ file, name })),
  );
  const forOthers = imports.filter(({ file, name }) => {
    const entry = entryOf(name, file);
    return entry === undefined || entry.dev === true || entry.devOptional === true;
  });
  expect(forOthers).toEqual([FOR_TESTS]);
  expect(packages['node_modules/node']).not.toHaveProperty('dev');
  for (const name of ['fastify', 'mongoose', 'mongodb', 'pino-pretty', 'sharp', '@node-rs/argon2'])
    expect(imports.map((each) => each.name)).toContain(name);
});

test('a command for operators needs no package for development', () => {
  const documented = [...read('docs/guides/operators/commands.md').matchAll(/`(?:npm run )?([\w:-]+)[ `]/g)];
  const names = documented.map(([, name = '']) => name).filter((name) => name in scripts);
  expect(names).toEqual(expect.arrayContaining(['backup', 'restore', 'audit:log', 'rebuild:gyms', 'keys']));
  const other = ['logs', ...names].filter((name) => forDevelopment.test(scripts[name] ?? ''));
  expect(other).toEqual(['bench']);
});
