/** The worst patterns of unidiomatic English (docs/writing.md). Reviewers find the others. */
import { describe, expect, test } from '@jest/globals';
import MarkdownIt from 'markdown-it';
import { loadApiDocument } from './api-document.ts';
import { dotted, files, isTestCode, type Node, parse, read, sources } from './support.ts';

interface Pattern {
  fault: RegExp;
  /** Better wording. */
  instead: string;
  /** A text with the fault, and the same text without it. */
  example: readonly [faulty: string, better: string];
}

/** Words that no text may contain, including comments, titles, messages, descriptions and documents. */
const WORDS: Record<string, Pattern> = {
  likewise: {
    fault: /\blikewise\b/i,
    instead: 'repeat the fact, or name it',
    example: ['of the licenses likewise', 'a license list is paged like a gym list'],
  },
  whoever: {
    fault: /\bwhoever\b/i,
    instead: 'anyone who',
    example: ['whoever holds the link', 'anyone who has the link'],
  },
  'also where': {
    fault: /\balso (?:where|with|without|of|by)\b/i,
    instead: 'even if, including, too',
    example: ['also where it is empty', 'even if it is empty'],
  },
  'is over': {
    fault: /\b(?:is|are|was|were) over\b/i,
    instead: 'has ended',
    example: ['the session is over', 'the session has ended'],
  },
  'counts as': {
    fault: /\bcounts as\b/i,
    instead: 'is treated as',
    example: ['an empty text counts as none', 'an empty text is treated as missing'],
  },
  'is told': {
    fault: /\b(?:is|are|was|were|be) told\b/i,
    instead: 'is notified, sees, is listed',
    example: ['the user is told by SMS', 'the user is notified by SMS'],
  },
  'British spelling': {
    fault:
      /licence|\b(?:recogni|normali|initiali|seriali|authori|organi|optimi)s(?:e[drs]?|ing|ation)\b|(?:behavi|neighb|fav|col|hon)our|\bcentred?\b|\b(?:centi|kilo)?metres?\b/i,
    instead: 'American spelling, as in the specification',
    example: ['a recognised licence of a neighbour', 'a recognized license of a neighbor'],
  },
};
/** A comment without a beginning. */
const COMMENT: Pattern = {
  fault: /(?:\/\*\*?|\/\/|^\s*[*#])\s+(?:Of|As|By)\b/,
  instead: 'a noun phrase or a complete sentence',
  example: ['/** Of a session. */', '/** Lifetime of a session. */'],
};
/**
 * A test title that only makes sense after its `describe`. It begins with a verb or a relative pronoun, or with a
 * preposition or conjunction without the comma that would end an introductory phrase.
 */
const TITLE: Pattern = {
  fault:
    /^(?:also|and|or|but|not|that|which|whose|is|are|was|were|has|have|can|may|must|needs|does|gives|takes|keeps|ends|counts|stays|says|shows|works|refuses|gets)\b|^(?:of|by|as|in|at(?! (?:most|least)\b)|on|to|for|from|with|without|after|before|when|while|until|if)\b[^,]*$/,
  instead: 'a full clause with a subject, because -t and a failure line show it alone',
  example: ['is over with its token', 'a session ends when its token expires'],
};

/** A title that calls a response an answer, or says that something "is" a status. */
const RESPONSE: Pattern = {
  fault: /\b(?:an?|the|each|every|no|its|their|same|early|lost) answers?\b|\b(?:is|are|was|were) [45]\d\d\b/i,
  instead: 'response, returns, or is rejected with',
  example: ['an unknown id is 404, and a lost answer is repeated', 'an unknown id returns 404'],
};

/** The most words that one sentence of a document may have. Use two sentences for more. */
const LONGEST_SENTENCE = 25;

const LONGEST_SUMMARY = 50;
/** Verbs that a summary may begin with. */
const SUMMARY_VERBS: ReadonlySet<string> = new Set(
  (
    'Add Buy Cancel Change Confirm Create Delete Disconnect Download List Mark Rate Redeem Register Reject Remove Report Request ' +
    'Reset Resolve Retrieve Return Revoke Schedule Set Sign Start Turn Unregister Update Upload'
  ).split(' '),
);

interface Described {
  operationId: string;
  summary?: string;
  description?: string;
}

/** The title of a call of `test(…)` or `test.each(…)(…)`; undefined for any other node. */
const titleOf = (node: Node): string | undefined => {
  if (node.type !== 'CallExpression') return undefined;
  const callee = node.callee as Node;
  const name = dotted(callee.type === 'CallExpression' ? callee.callee : callee);
  if (name !== 'test' && name !== 'test.each') return undefined;
  const [first] = node.arguments as { expression: Node }[];
  const { type, value, quasis } = first?.expression ?? { type: '' };
  if (type === 'StringLiteral') return String(value);
  return type === 'TemplateLiteral'
    ? (quasis as { cooked: string }[]).map(({ cooked }) => cooked).join('x')
    : undefined;
};

const markdown = new MarkdownIt();
/** The paragraphs, list items and cells of a document. Code is treated as one word. */
const paragraphsOf = (text: string): string[] =>
  markdown
    .parse(text, {})
    .flatMap(({ children }) =>
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

const longSentences = (text: string): string[] =>
  text
    .replace(/`[^`]*`/g, 'code')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/\bcode(?:,? code)+\b/g, 'code')
    .split(/(?<=[.!?:;]["”)]?)\s+/)
    .filter((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > LONGEST_SENTENCE);

/** This file contains the faults as examples. The others are package licenses and the notes of released versions. */
const EXEMPT = new Set(['test/architecture/language.test.ts', 'NOTICE', 'CHANGELOG.md']);
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

const titles = sources.filter(isTestCode).flatMap((file) => {
  const tree = parse(file);
  return tree.nodes.flatMap((node) => {
    const title = titleOf(node);
    return title === undefined ? [] : [{ at: `${file}:${tree.linesOf(node)[0]}`, title }];
  });
});

test('every test title is a full clause with a subject', () => {
  const halves = titles.filter(({ title }) => TITLE.fault.test(title));
  expect(titles.length).toBeGreaterThan(1_000);
  expect(halves.map(({ at, title }) => `${at}: ${title}`)).toEqual([]);
});

test('every test title says that a request returns a response or a status', () => {
  const others = titles.filter(({ title }) => RESPONSE.fault.test(title));
  expect(others.map(({ at, title }) => `${at}: ${title}`)).toEqual([]);
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

const describedOperations = async (): Promise<Required<Described>[]> => {
  const { paths } = await loadApiDocument();
  return Object.values(paths)
    .flatMap((path) => Object.values(path as unknown as Record<string, Described>))
    .map(({ operationId, summary = '', description = '' }) => ({ operationId, summary, description }));
};

test('every API summary and description is free of these patterns', async () => {
  const operations = await describedOperations();
  const faulty = operations.flatMap(({ operationId, summary, description }) =>
    [summary, description]
      .filter(
        (text) =>
          Object.values(WORDS).some(({ fault }) => fault.test(text)) || longSentences(text).length > 0,
      )
      .map((text) => `${operationId}: ${text}`),
  );
  expect(operations.length).toBeGreaterThan(80);
  expect(faulty).toEqual([]);
});

test(`every API summary begins with a verb and has at most ${LONGEST_SUMMARY} characters without a period`, async () => {
  const operations = await describedOperations();
  const problemsOf = (summary: string): string[] => [
    ...(SUMMARY_VERBS.has(summary.split(' ')[0] ?? '')
      ? []
      : ['does not begin with a verb of SUMMARY_VERBS, which grows with the product']),
    ...(summary.length <= LONGEST_SUMMARY ? [] : ['is too long']),
    ...(summary.endsWith('.') ? ['ends with a period'] : []),
  ];
  const faulty = operations.flatMap(({ operationId, summary }) =>
    problemsOf(summary).map((problem) => `${operationId}: "${summary}" ${problem}`),
  );
  expect(faulty).toEqual([]);
});

describe('the patterns themselves', () => {
  test.each([...Object.values(WORDS), COMMENT, TITLE, RESPONSE])(
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
