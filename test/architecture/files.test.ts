import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { files, importsOf, isTestCode, read, root, sources } from './support.ts';

/** An entry point, of apps too, or a file that is found by reading its folder or by the compiler. */
const isEntry = (file: string): boolean =>
  /^packages\/client\/src\/index\.ts$|\.d\.ts$/.test(file) ||
  /\/main\.ts$|-cli\.ts$|\.test\.ts$|\.bench\.ts$|\/i18n\/catalogues\/|\/place-names\//.test(file) ||
  named.some((text) => text.includes(file));

/** Texts that may start a file by its path. */
const named = files
  .filter((file) =>
    /(?:^|\/)package\.json$|^scripts\/|(?:^|\/)Dockerfile$|^\.ci\/|^jest\.config\.js$/.test(file),
  )
  .map(read);

describe('no file is dead', () => {
  const imported = new Map<string, Set<string>>();
  for (const file of files.filter((name) => /\.(?:ts|mjs|js|cjs)$/.test(name))) {
    for (const target of importsOf(file)) imported.set(target, (imported.get(target) ?? new Set()).add(file));
  }
  const importersOf = (file: string): string[] => [...(imported.get(file) ?? [])];

  test('each file is imported by another, or is an entry point', () => {
    expect(sources.filter((file) => !isEntry(file) && importersOf(file).length === 0)).toEqual([]);
  });

  test('no file of the product is used by tests only', () => {
    const product = sources.filter(
      (file) => !isTestCode(file) && !isEntry(file) && importersOf(file).length > 0,
    );
    expect(product.filter((file) => importersOf(file).every(isTestCode))).toEqual([]);
  });

  test('no script is dead', () => {
    const scripts = files.filter((file) => /^scripts\/lib\/.*\.mjs$/.test(file));
    const dead = scripts.filter(
      (file) => importersOf(file).length === 0 && !named.some((text) => text.includes(file)),
    );
    expect(dead).toEqual([]);
  });
});

test('each test file that a document names by its path exists', () => {
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
    // Without npm, or without a valid registry setting, there is no host to search for.
    return undefined;
  }
};

describe('the repository contains nothing of one machine', () => {
  // Concatenated, so that this file does not contain them.
  const machine = [
    ['', 'work', ''],
    ['', 'opt', 'dev'],
    ['', 'root', '.'],
  ].map((parts) => parts.join('/'));

  test('no file contains a path of one machine, or the package registry of one network', () => {
    const host = registryHost();
    const forbidden = host === undefined ? machine : [...machine, host];
    const found = files.flatMap((file) => {
      const text = read(file);
      return forbidden.filter((word) => text.includes(word)).map((word) => `${file}: ${word}`);
    });
    expect(found).toEqual([]);
  });
});
