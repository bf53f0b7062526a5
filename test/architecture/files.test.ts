import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { files, importsOf, isTestCode, read, root, sources } from './support.ts';

/** Whether a file is an entry point (including an app's), or is found by reading its folder or by the compiler. */
const isEntry = (file: string): boolean =>
  /^packages\/client\/src\/index\.ts$|\.d\.ts$/.test(file) ||
  /\/main\.ts$|-cli\.ts$|\.test\.ts$|\.bench\.ts$/.test(file) ||
  named.some((text) => text.includes(file));

/** Files that may start another file by its path. */
const named = files
  .filter((file) =>
    /(?:^|\/)package\.json$|^scripts\/|(?:^|\/)Dockerfile$|^\.ci\/|^jest\.config\.js$/.test(file),
  )
  .map(read);

describe('dead files', () => {
  const imported = new Map<string, Set<string>>();
  for (const file of files.filter((name) => /\.(?:ts|mjs|js|cjs)$/.test(name))) {
    for (const target of importsOf(file)) imported.set(target, (imported.get(target) ?? new Set()).add(file));
  }
  const importersOf = (file: string): string[] => [...(imported.get(file) ?? [])];

  test('each source file is imported by another or is an entry point', () => {
    expect(sources.filter((file) => !isEntry(file) && importersOf(file).length === 0)).toEqual([]);
  });

  test('no product file is used only by tests', () => {
    const product = sources.filter(
      (file) => !isTestCode(file) && !isEntry(file) && importersOf(file).length > 0,
    );
    expect(product.filter((file) => importersOf(file).every(isTestCode))).toEqual([]);
  });

  test('no script is unused', () => {
    const scripts = files.filter((file) => /^scripts\/lib\/.*\.mjs$/.test(file));
    const dead = scripts.filter(
      (file) => importersOf(file).length === 0 && !named.some((text) => text.includes(file)),
    );
    expect(dead).toEqual([]);
  });
});

test('each test file path in a document exists', () => {
  const documents = files.filter((file) => file.endsWith('.md'));
  const missing = documents.flatMap((file) =>
    [...read(file).matchAll(/`([\w./-]+\/[\w.-]+\.(?:test|bench)\.ts)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => !files.includes(path) && !files.includes(join(dirname(file), path)))
      .map((path) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test('the sample app is one file of at most 300 lines, each at most 140 characters long', () => {
  const lines = read('sandbox/src/sample/app.html').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(300);
  expect(lines.filter((line) => line.length > 140)).toEqual([]);
  expect(files.filter((file) => file.startsWith('sandbox/src/sample/'))).toEqual([
    'sandbox/src/sample/app.html',
    'sandbox/src/sample/routes.ts',
  ]);
});

const registryHost = (): string | undefined => {
  try {
    const url = execFileSync('npm', ['config', 'get', 'registry'], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    const { host } = new URL(url.trim());
    return host;
  } catch {
    // Without npm or a valid registry setting, there is no host to search for.
    return undefined;
  }
};

describe('machine-specific content', () => {
  // The parts are joined here so that this file does not contain the paths.
  const machine = [
    ['', 'work', ''],
    ['', 'opt', 'dev'],
    ['', 'root', '.'],
  ].map((parts) => parts.join('/'));

  test('no file contains a path on one machine or a private package registry', () => {
    const host = registryHost();
    const forbidden = host === undefined ? machine : [...machine, host];
    const occurrences = files.flatMap((file) => {
      const text = read(file);
      return forbidden.filter((word) => text.includes(word)).map((word) => `${file}: ${word}`);
    });
    expect(occurrences).toEqual([]);
  });
});
