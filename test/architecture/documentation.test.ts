import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { describe, expect, test } from '@jest/globals';
import { buildSite } from '../../scripts/lib/docs/site.mjs';
import { files, root } from './support.ts';

const readBytes = (file: string): Buffer => readFileSync(join(root, file));
const built = buildSite({ files, read: readBytes });
const pages = [...built.site].filter(([address]) => address.endsWith('.html'));

/** Problems of the repository if the texts of some files are changed. */
const problemsWith = (changed: Record<string, string>): string[] =>
  buildSite({
    files: [...new Set([...files, ...Object.keys(changed)])],
    read: (file) => (changed[file] === undefined ? readBytes(file) : Buffer.from(changed[file])),
  }).problems;

describe('documentation', () => {
  test('each Markdown link leads to an existing file and heading, and each document is in the navigation', () => {
    expectByRecipe('document', built.problems);
  });

  test('broken links, documents outside the navigation and decisions without a rule or topic are found', () => {
    const links = '[b](docs/none.md) [c](#none) [d](ARCHITECTURE.md#none) [e](#a)';
    const problems = problemsWith({
      'CHANGELOG.md': `# A\n\n${links}`,
      'elsewhere/a.md': '# A',
      'docs/adr/9999-a.md': '# 9999. A\n\nStatus: accepted',
      'docs/adr/0001-a.md': '# 1. A\n\nStatus: accepted',
    });
    const found = problems.filter((problem) =>
      /^(?:CHANGELOG|elsewhere|docs\/adr\/(?:9999|README)|two)/.test(problem),
    );
    expect(found.toSorted()).toEqual(
      [
        'CHANGELOG.md: docs/none.md: no such file',
        'CHANGELOG.md: #none: no such heading',
        'CHANGELOG.md: ARCHITECTURE.md#none: no such heading',
        'elsewhere/a.md: no place in the navigation',
        'docs/adr/9999-a.md: does not begin with its status and its rule',
        'docs/adr/README.md: no line - [9999. A](9999-a.md): accepted',
        'docs/adr/README.md: no line - [1. A](0001-a.md): accepted',
        'two decisions have the number 0001',
      ].toSorted(),
    );
  });

  test('each Markdown file is a page whose links exist on the site', () => {
    expect(pages).toHaveLength(files.filter((file) => file.endsWith('.md')).length);
    const missing = pages.flatMap(([address, html]) =>
      [...String(html).matchAll(/(?:href|src)="([^"]*)"/g)]
        .map(([, link = '']) => link.split('#')[0] ?? '')
        .filter((link) => link !== '' && !/^[a-z]+:/.test(link))
        .filter((link) => !built.site.has(posix.join(posix.dirname(address), link)))
        .map((link) => `${address}: ${link}`),
    );
    expect(missing).toEqual([]);
  });

  test('no page shows a comment of its Markdown file', () => {
    expect(readBytes('docs/guides/operators/upgrade.md').toString()).toContain('<!-- upgrade -->');
    expect(pages.filter(([, html]) => String(html).includes('&lt;!-- ')).map(([address]) => address)).toEqual(
      [],
    );
  });

  test('no page loads anything from another site', () => {
    for (const [, html] of pages) expect(String(html)).not.toMatch(/<(?:script|img|link)[^>]+"https?:/);
    expect(String(built.site.get('assets/docs.css'))).not.toMatch(/https?:|@import/);
  });
});
