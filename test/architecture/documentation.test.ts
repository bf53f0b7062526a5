import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { expect, test } from '@jest/globals';
import { problemsOfDocuments } from './documents.ts';
import { files, read } from './support.ts';

/** Problems of the repository if the texts of some files are changed. */
const problemsWith = (changed: Record<string, string>): string[] =>
  problemsOfDocuments({
    files: [...new Set([...files, ...Object.keys(changed)])],
    read: (file) => changed[file] ?? read(file),
  });

test('each Markdown link leads to an existing file and heading, and each decision is in the list', () => {
  expectByRecipe('document', problemsWith({}));
});

test('broken links and decisions without a rule or topic are found', () => {
  const links =
    '[b](docs/none.md) [c](#none) [d](ARCHITECTURE.md#none) [e](#a) ![f](none.png) [g](docs/adr#none)';
  const problems = problemsWith({
    'CHANGELOG.md': `# A\n\n${links}`,
    'docs/adr/9999-a.md': '# 9999. A\n\nStatus: accepted',
    'docs/adr/0001-a.md': '# 1. A\n\nStatus: accepted',
  });
  const found = problems.filter((problem) => /^(?:CHANGELOG|docs\/adr\/(?:9999|README)|two)/.test(problem));
  expect(found.toSorted()).toEqual(
    [
      'CHANGELOG.md: docs/none.md: no such file',
      'CHANGELOG.md: #none: no such heading',
      'CHANGELOG.md: ARCHITECTURE.md#none: no such heading',
      'CHANGELOG.md: none.png: no such file',
      'CHANGELOG.md: docs/adr#none: no such heading',
      'docs/adr/9999-a.md: does not begin with its status and its rule',
      'docs/adr/README.md: no line - [9999. A](9999-a.md): accepted',
      'docs/adr/README.md: no line - [1. A](0001-a.md): accepted',
      'two decisions have the number 0001',
    ].toSorted(),
  );
});
