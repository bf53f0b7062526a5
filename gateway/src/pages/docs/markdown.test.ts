import { expect, test } from '@jest/globals';
import { parseMarkdown, renderTokens } from './markdown.ts';

const rendered = (source: string): string => renderTokens(parseMarkdown(source).tokens).toString();

test('headings have the anchors of GitHub, and repeated ones a number', () => {
  const { headings } = parseMarkdown('# The `code` of *A*\n\n## Sizes, limits\n\n## Sizes, limits');
  expect(headings.map(({ tag, id, title }) => [tag, id, title])).toEqual([
    ['h1', 'the-code-of-a', 'The code of A'],
    ['h2', 'sizes-limits', 'Sizes, limits'],
    ['h2', 'sizes-limits-1', 'Sizes, limits'],
  ]);
});

test('a comment is left out, and other HTML is text', () => {
  const page = rendered('<!-- tour -->\n\n# A\n\n<b onclick="x">b</b>\n');
  expect(page).not.toContain('tour');
  expect(page).toContain('&lt;b onclick=&quot;x&quot;&gt;b&lt;/b&gt;');
});

test('a cell names its column, even if it is empty, and an aligned column has no style', () => {
  const page = rendered('| a | `b` |\n| --- | ---: |\n| 1 |  |\n');
  expect(page).toContain('<td data-label="a"><div>1</div></td>');
  expect(page).toContain('<td data-label="b" data-empty=""><div></div></td>');
  expect(page).not.toContain('style');
});

test('a block of code can be scrolled by keyboard', () => {
  expect(rendered('```sh\na < b\n```\n')).toBe('<pre tabindex="0"><code>a &lt; b\n</code></pre>\n');
  expect(rendered('    a < b\n')).toBe('<pre tabindex="0"><code>a &lt; b\n</code></pre>\n');
});
