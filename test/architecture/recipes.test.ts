/** A newcomer finds the page of a change, the files that it names, and a command that runs its tests. */
import { expect, test } from '@jest/globals';
import { commandsOf, RECIPES, readRecipe } from './recipes.ts';
import { files, read, sources } from './support.ts';

const MOST_WORDS = 700;
const MOST_LINES = 25;

test(`CONTRIBUTING.md has at most ${MOST_WORDS} words`, () => {
  expect(read('CONTRIBUTING.md').trim().split(/\s+/).length).toBeLessThanOrEqual(MOST_WORDS);
});

test('the index lists every recipe', () => {
  const index = read('docs/recipes/README.md');
  expect(RECIPES.length).toBeGreaterThan(20);
  expect(RECIPES.filter((name) => !index.includes(`${name}.md`))).toEqual([]);
});

test('every failing test that names a recipe names an existing one', () => {
  const named = sources.flatMap((file) =>
    [...read(file).matchAll(/\bexpectByRecipe\(\s*'([^']+)'/g)].map(([, name = '']) => name),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !RECIPES.includes(name))).toEqual([]);
});

const TESTS: Readonly<Record<string, RegExp>> = {
  unit: /\/src\/.+\.test\.ts$/,
  service: /^(?:packages|services|gateway|sandbox)\/(?:[^/]+\/)?test\/(?:(?!\.long\.).)+\.test\.ts$/,
  architecture: /^test\/architecture\/(?:(?!\.long\.).)+\.test\.ts$/,
  long: /\.long\.test\.ts$/,
  e2e: /^test\/e2e\/(?:(?!\.smoke\.).)+\.test\.ts$/,
  any: /\.test\.ts$/,
};
const CHECKS = ['typecheck', 'lint'];

/** The kinds of tests and the patterns of a command; undefined for any other command. */
const parse = (command: string): { kinds: string[]; patterns: string[] } | undefined => {
  const [, only, long, jest] =
    /^npm test -- --only (\S+ \S.*)$|^npm run test:long -- (\S.*)$|^npx jest (\S.*)$/.exec(command) ?? [];
  const patterns = (only ?? long ?? jest)?.split(' ');
  if (patterns === undefined) return undefined;
  if (only === undefined) return { kinds: [long === undefined ? 'any' : 'long'], patterns };
  const [kinds = '', ...rest] = patterns;
  return { kinds: kinds.split(',').filter((kind) => !CHECKS.includes(kind)), patterns: rest };
};

/** Parts of a command that would run no test. */
const problemsOf = (command: string): string[] => {
  const { kinds, patterns } = parse(command) ?? { kinds: [], patterns: [] };
  if (patterns.length === 0) return [command];
  const unknown = kinds.filter((kind) => TESTS[kind] === undefined);
  const among = files.filter((file) => kinds.some((kind) => TESTS[kind]?.test(file)));
  const empty = patterns.filter((pattern) => {
    const path = new RegExp(pattern.replaceAll('<service>', '[^/]+'), 'i');
    return !among.some((file) => path.test(`/${file}`));
  });
  return [...unknown, ...empty];
};

const PATH = /`((?:docs|gateway|packages|proto|sandbox|scripts|services|test|deploy)\/[^`\s]+)`/g;

/** Whether a file or a directory has this path, in which `<name>` and `*` stand for any name. */
const isThere = (path: string): boolean => {
  const pattern = path
    .replaceAll('.', '\\.')
    .replaceAll(/<[^>]+>/g, '[^/]+')
    .replaceAll('*', '[^/]*');
  return files.some((file) => new RegExp(`^${pattern.replace(/\/$/, '')}(?:/|$)`).test(file));
};

test.each(RECIPES)(
  `the recipe %s has at most ${MOST_LINES} lines, ends with its test command, and names existing files`,
  (name) => {
    const text = readRecipe(name);
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(MOST_LINES);
    const commands = commandsOf(text);
    expect(commands).not.toEqual([]);
    expect(commands.flatMap(problemsOf)).toEqual([]);
    const paths = [...text.matchAll(PATH)].map(([, path = '']) => path);
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  },
);
