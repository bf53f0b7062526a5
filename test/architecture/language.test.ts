/** The worst patterns of unidiomatic English (docs/writing.md). Reviewers find the others. */
import { describe, expect, test } from '@jest/globals';
import { parseMarkdown } from '../../gateway/src/pages/docs/markdown.ts';
import { files, read } from './support.ts';
import { COMMENT, LONGEST_SENTENCE, longSentences, type Pattern, WORDS } from './wording.ts';

/** The paragraphs, list items and cells of a document. Code is treated as one word. */
const paragraphsOf = (text: string): string[] =>
  parseMarkdown(text).tokens.flatMap(({ children }) =>
    children === null
      ? []
      : [
          children
            .map(({ type, content }) =>
              type === 'code_inline' ? 'code' : type === 'softbreak' ? ' ' : content,
            )
            .join(''),
        ],
  );

/** Examples of the faults, package licenses, and the notes of released versions. */
const EXEMPT = new Set(['test/architecture/wording.ts', 'NOTICE', 'CHANGELOG.md']);
/** Lists the words to avoid. */
const WORD_LIST = 'docs/writing.md';
const texts = files.filter(
  (file) =>
    /(?:\.(?:ts|mjs|js|cjs|proto|md|ya?ml|sh|css|html|env|cfg)|\.example|Dockerfile)$/.test(file) &&
    !EXEMPT.has(file) &&
    !/^proto\/gen\//.test(file),
);

const textsWithoutWordList = texts.filter((file) => file !== WORD_LIST);

const linesWith = ({ fault }: Pattern, among: readonly string[]): string[] =>
  among.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, i) => (fault.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
  );

test.each(Object.entries(WORDS))('no text contains "%s"', (_word, pattern) => {
  expect({ instead: pattern.instead, lines: linesWith(pattern, textsWithoutWordList) }).toEqual({
    instead: pattern.instead,
    lines: [],
  });
});

test('no comment begins with Of, As or By', () => {
  expect(
    linesWith(
      COMMENT,
      texts.filter((file) => !/\.(?:md|html)$/.test(file)),
    ),
  ).toEqual([]);
});

test(`no sentence of a document has more than ${LONGEST_SENTENCE} words`, () => {
  const documents = texts.filter((file) => file.endsWith('.md'));
  const long = documents.flatMap((file) =>
    paragraphsOf(read(file)).flatMap((paragraph) =>
      longSentences(paragraph).map((sentence) => `${file}: ${sentence}`),
    ),
  );
  expect(long).toEqual([]);
});

describe('the patterns themselves', () => {
  test.each([...Object.values(WORDS), COMMENT])(
    '$fault matches its faulty example but not the better one',
    ({ fault, example: [faulty, better] }) => {
      expect(faulty).toMatch(fault);
      expect(better).not.toMatch(fault);
    },
  );

  test('the length of a sentence excludes its code and link addresses', () => {
    const words = Array.from({ length: LONGEST_SENTENCE }, (_, i) => `w${i}`).join(' ');
    expect(longSentences(`A short one. ${words}. [A link](https://example.com/a b).`)).toEqual([]);
    expect(longSentences(`A short one. ${words} more. Another.`)).toEqual([`${words} more.`]);
  });
});
