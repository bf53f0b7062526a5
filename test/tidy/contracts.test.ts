import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { BLOCKERS, blockerMessageKey } from '@fitness/shared/blocker-catalogue.ts';
import { en } from '@fitness/shared/i18n/catalogues/en.ts';
import { fa } from '@fitness/shared/i18n/catalogues/fa.ts';
import { describe, expect, test } from '@jest/globals';
import { exists, files, read, root, SERVICES, sources } from './support.ts';

describe('every blocker', () => {
  test.each(BLOCKERS.map(({ code, owner }) => [code, owner] as const))(
    '%s has its file at %s',
    (code, owner) => {
      expect(exists(`services/${owner}/src/app/blockers/${code.replaceAll('_', '-')}.ts`)).toBe(true);
    },
  );

  test.each(BLOCKERS.map(({ code }) => code))('%s has a message in each language', (code) => {
    for (const catalogue of [en, fa]) expect(catalogue[blockerMessageKey(code)]).toMatch(/\S/);
  });
});

/** `file:line: text` for every line that matches, and does not follow a comment. */
const undocumented = (file: string, declaration: RegExp, comment: RegExp): string[] => {
  const lines = read(file).split('\n');
  return lines.flatMap((line, i) =>
    declaration.test(line) && !comment.test(lines[i - 1] ?? '') ? [`${file}:${i + 1}: ${line.trim()}`] : [],
  );
};

describe('every contract says what it means', () => {
  test('the gRPC services and their calls', () => {
    const protos = files.filter((file) => file.startsWith('proto/') && file.endsWith('.proto'));
    expect(protos.length).toBeGreaterThanOrEqual(SERVICES.length);
    const found = protos.flatMap((file) => undocumented(file, /^\s*(?:service|rpc)\s/, /^\s*\/\/ \S/));
    expect(found).toEqual([]);
  });

  test('the events', () => {
    const catalogues = sources.filter((file) => file.startsWith('proto/events/'));
    const found = catalogues.flatMap((file) =>
      undocumented(file, /^export const \w+ = defineEvent\(/, /\*\/\s*$/),
    );
    expect(catalogues.length).toBeGreaterThanOrEqual(SERVICES.length);
    expect(found).toEqual([]);
  });
});

test('the types of the protocols are those that would be generated', () => {
  const generate = join(root, 'scripts/generate-proto-types.mjs');
  expect(() =>
    execFileSync(process.execPath, [generate, '--check'], { cwd: root, stdio: 'pipe' }),
  ).not.toThrow();
});

describe('the README of each service', () => {
  test.each([...SERVICES])('%s says what it owns, answers, tells and listens to', (service) => {
    const file = `services/${service}/README.md`;
    const text = exists(file) ? read(file) : '';
    const missing = ['owns', 'answers', 'tells', 'listens'].filter(
      (word) => !new RegExp(`\\b${word}\\b`, 'i').test(text),
    );
    expect({ file, missing }).toEqual({ file, missing: [] });
  });
});
