import { BLOCKERS, blockerMessageKey } from '@fitness/contracts/blockers.ts';
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { CATALOGUES } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { describe, expect, test } from '@jest/globals';
import { exists, files, read, SERVICES } from './support.ts';

describe('blockers', () => {
  test.each([...BLOCKERS])(
    'the blocker $code is in the guide for apps and in the README of its owner',
    ({ code, owner }) => {
      const documents = ['docs/guides/apps/deletion.md', `services/${owner}/README.md`];
      expectByRecipe(
        'blocker',
        documents.filter((file) => !read(file).includes(`\`${code}\``)),
      );
    },
  );

  test.each(BLOCKERS.map(({ code }) => code))('the blocker %s has a message in each language', (code) => {
    const key = blockerMessageKey(code);
    for (const catalogue of CATALOGUES.values() as Iterable<Record<string, string>>) {
      expect(catalogue[key] ?? catalogue[`${key}_other`]).toMatch(/\S/);
    }
  });
});

/** `file:line: text` for every matching line without a comment before it. */
const undocumented = (file: string, declaration: RegExp, comment: RegExp): string[] => {
  const lines = read(file).split('\n');
  return lines.flatMap((line, i) =>
    declaration.test(line) && !comment.test(lines[i - 1] ?? '') ? [`${file}:${i + 1}: ${line.trim()}`] : [],
  );
};

describe('documentation of contracts', () => {
  test('every gRPC service and call is documented', () => {
    const protos = files.filter((file) => file.startsWith('proto/') && file.endsWith('.proto'));
    expect(protos.length).toBeGreaterThanOrEqual(SERVICES.length);
    const missing = protos.flatMap((file) => undocumented(file, /^\s*(?:service|rpc)\s/, /^\s*\/\/ \S/));
    expect(missing).toEqual([]);
  });

  test('every event is documented', () => {
    expect(EVENTS.length).toBeGreaterThan(20);
    const bare = EVENTS.filter(({ summary = '' }) => !/^[A-Z`].{10,}\.$/s.test(summary));
    expectByRecipe(
      'event',
      bare.map(({ type }) => type),
    );
  });
});

describe('READMEs of services', () => {
  test.each([...SERVICES])(
    'the README of %s names what it owns, serves, publishes and consumes',
    (service) => {
      const file = `services/${service}/README.md`;
      const text = exists(file) ? read(file) : '';
      const missing = ['owns', 'serves', 'publishes', 'consumes'].filter(
        (word) => !new RegExp(`\\b${word}\\b`, 'i').test(text),
      );
      expect({ file, missing }).toEqual({ file, missing: [] });
    },
  );
});
