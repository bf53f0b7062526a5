import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { afterAll, describe, expect, test } from '@jest/globals';
import { dotted, files, isTestCode, type Node, parse, read, sources, type Tree, walk } from './support.ts';
import type { Pattern } from './wording.ts';

const LONGEST_FUNCTION = 70;

const trees = new Map<string, Tree>();
const treeOf = (file: string): Tree => {
  const tree = trees.get(file) ?? parse(file);
  trees.set(file, tree);
  return tree;
};
const texts = new Map(sources.map((file) => [file, read(file)]));
/** The parsed files whose text matches. To parse the others takes seconds, and they cannot break the rule. */
const treesWith = (pattern: RegExp, among: readonly string[] = sources): Tree[] =>
  among.filter((file) => pattern.test(texts.get(file) ?? '')).map(treeOf);
/** Product sources whose text matches, except those of `others`. */
const productTreesWith = (pattern: RegExp, others: (file: string) => boolean = () => false): Tree[] =>
  treesWith(
    pattern,
    sources.filter((file) => !isTestCode(file) && !others(file)),
  );

/** `file:line: what` for every node that `find` reports a problem for. */
const violations = (among: readonly Tree[], find: (node: Node) => string | undefined): string[] =>
  among.flatMap((tree) =>
    tree.nodes.flatMap((node) => {
      const problem = find(node);
      return problem === undefined ? [] : [`${tree.file}:${tree.linesOf(node)[0]}: ${problem}`];
    }),
  );

afterAll(() => {
  expect(sources.length).toBeGreaterThan(100);
  expect(trees.size).toBeGreaterThan(100);
  for (const { body } of trees.values()) expect(body.body.length).toBeGreaterThan(0);
});

describe('readers of external input', () => {
  test('the environment is read only in config.ts and in commands', () => {
    const readers = /(?:^|\/)config\.ts$|-cli\.ts$/;
    const others = productTreesWith(/\bprocess\b/, (file) => readers.test(file));
    expect(
      violations(others, (node) => (dotted(node) === 'process.env' ? 'process.env' : undefined)),
    ).toEqual([]);
  });

  test('the system clock is read only in clock.ts', () => {
    const others = productTreesWith(/\bDate\b/, (file) => file === 'packages/shared/src/kernel/clock.ts');
    const clockReads = violations(others, (node) => {
      if (node.type === 'MemberExpression' && dotted(node) === 'Date.now') return 'Date.now';
      if (dotted(node.callee) !== 'Date') return undefined;
      if (node.type === 'CallExpression') return 'Date()';
      const args = (node.arguments ?? []) as unknown[];
      return node.type === 'NewExpression' && args.length === 0 ? 'new Date()' : undefined;
    });
    expect(clockReads).toEqual([]);
  });

  test('leases and claims use real time, so an advance of the sandbox clock does not end them', () => {
    const computed = sources.filter(
      (file) =>
        !isTestCode(file) && !file.includes('/domain/') && /\b(?:\w+_)?(?:LEASE|CLAIM)_MS\b/.test(read(file)),
    );
    expect(computed.length).toBeGreaterThan(4);
    expect(computed.filter((file) => !/\brealTime\b/.test(read(file)))).toEqual([]);
  });

  test('numbers and dates are formatted for people only in translate.ts', () => {
    const FORMATTERS = {
      'packages/shared/src/kernel/i18n/translate.ts': 'the place',
      'packages/shared/src/kernel/i18n/typed-day.ts': 'days that people type, and as they type them',
      'packages/shared/src/kernel/pluralize.ts': 'English texts of commands',
      'packages/shared/src/http/pagination.ts': 'the English description of a parameter',
      'services/gyms/src/domain/working-periods.ts': 'the clock of a gym, for calculations',
    };
    const formats = violations(productTreesWith(/\bIntl\b|toLocale/), (node) => {
      if (node.type !== 'MemberExpression') return undefined;
      const name = dotted(node) ?? '';
      const { value: member = '' } = node.property as { value?: string };
      const isFormat =
        /^Intl\.(?:DateTimeFormat|NumberFormat)$/.test(name) || /^toLocale.*String$/.test(member);
      return isFormat ? name || member : undefined;
    });
    const files = [...new Set(formats.map((fault) => fault.split(':')[0]))];
    expect(files.sort()).toEqual(Object.keys(FORMATTERS).sort());
  });

  test('only stores import the database driver; other code may import its types', () => {
    const stores =
      /^services\/[^/]+\/src\/store\/|^packages\/shared\/src\/(?:mongo\/|(?:audit|messaging)\/models\.ts)/;
    const others = productTreesWith(/['"]mongo(?:ose|db)['"]/, (file) => stores.test(file));
    const imports = violations(others, (node) => {
      if (node.type !== 'ImportDeclaration' || node.typeOnly === true) return undefined;
      const { value } = node.source as { value: string };
      if (value !== 'mongoose' && value !== 'mongodb') return undefined;
      const specifiers = node.specifiers as { isTypeOnly?: boolean }[];
      const onlyTypes = specifiers.length > 0 && specifiers.every(({ isTypeOnly }) => isTypeOnly === true);
      return onlyTypes ? undefined : `import of ${value}`;
    });
    expect(imports).toEqual([]);
  });
});

describe('bounded writes', () => {
  /** Writes of many documents, with the bound of each. All others use `steps.ts` (docs/adr/0009). */
  const BOUNDED: Record<string, [count: number, by: string]> = {
    'packages/shared/src/mongo/steps.ts': [2, 'the limit of a step'],
    'packages/shared/src/mongo/idempotency.ts': [1, 'the limit of a step'],
    'packages/shared/src/audit/log.ts': [1, 'the batch of the sealer'],
    'packages/shared/src/lists/texts.ts': [
      2,
      'the grams of one row, or of the rows of a step, GRAMS_MAX each',
    ],
    'packages/shared/src/messaging/relay.ts': [1, 'in no transaction, and the batch of the relay'],
    'packages/shared/src/messaging/outbox.ts': [1, 'the events of one transaction; publish refuses more'],
    'services/content/src/store/posts.ts': [1, 'the limit of a step'],
    'services/content/src/store/training-services.ts': [1, 'the limit of a step'],
    'services/gyms/src/store/reference-data.ts': [1, 'in no transaction'],
    'services/identity/src/store/devices.ts': [1, 'the limit of a step'],
    'services/identity/src/store/login-keys.ts': [3, 'an account has one key for each of LOGIN_FIELDS'],
    'services/identity/src/store/oauth-grants.ts': [2, 'the limit of a step'],
    'services/identity/src/store/restored-credentials.ts': [1, 'the limit of a step'],
    'services/identity/src/store/token-revocation.ts': [1, 'the limit of a step'],
    'services/identity/src/store/upgrades.ts': [1, 'in no transaction'],
    'services/media/src/store/media.ts': [1, 'the batch of delete-media-of-target.ts'],
    'services/store-billing/src/store/refunds.ts': [1, 'the limit of a step'],
    'services/wallet/src/store/bulk-write.ts': [1, 'the bookings of one entry, MAX_BOOKINGS'],
    'services/wallet/src/store/deposits.ts': [1, 'in no transaction'],
    'services/wallet/src/store/entries.ts': [1, 'the batch of the sealer'],
    'services/wallet/src/store/payment-erasure.ts': [1, 'the limit of a step'],
  };
  const WRITES_OF_MANY = new Set(['updateMany', 'deleteMany', 'insertMany', 'bulkWrite']);

  const isWriteOfMany = ({ type, callee }: Node): boolean => {
    if (type !== 'CallExpression') return false;
    const { type: target, property } = callee as Node;
    return target === 'MemberExpression' && WRITES_OF_MANY.has(String((property as Node).value));
  };

  test('every write of many documents is listed in this test with its bound', () => {
    const counted = productTreesWith(new RegExp([...WRITES_OF_MANY].join('|')))
      .filter(({ file }) => file.includes('/src/'))
      .map(({ file, nodes }) => [file, nodes.filter(isWriteOfMany).length] as const)
      .filter(([, count]) => count > 0);
    const listed = Object.entries(BOUNDED).map(([file, [count]]) => [file, count] as const);
    expectByRecipe('many-documents', Object.fromEntries(counted), Object.fromEntries(listed));
  });
});

describe('readable code', () => {
  const FUNCTIONS = new Set([
    'FunctionDeclaration',
    'FunctionExpression',
    'ArrowFunctionExpression',
    'ClassMethod',
    'PrivateMethod',
    'Constructor',
    'MethodProperty',
    'GetterProperty',
    'SetterProperty',
  ]);

  const isFunction = (node: Node): boolean => FUNCTIONS.has(node.type) && node.span !== undefined;

  /** The lines of a function without its inner functions. A factory of closures is not a long function. */
  const ownLines = (tree: Tree, node: Node): number => {
    const [first, last] = tree.linesOf(node);
    const inner = new Set<number>();
    walk(node, (nested) => {
      if (nested === node || !isFunction(nested)) return;
      const [from, to] = tree.linesOf(nested);
      // The first and last lines of the inner function also contain the surrounding code.
      for (let line = from + 1; line < to; line += 1) inner.add(line);
    });
    return last - first + 1 - inner.size;
  };

  test(`no function has more than ${LONGEST_FUNCTION} lines without its inner functions`, () => {
    // A describe() callback is as long as its tests.
    const others = sources
      .filter((file) => !file.endsWith('.test.ts') && read(file).split('\n').length > LONGEST_FUNCTION)
      .map(treeOf);
    const tooLong = others.flatMap((tree) =>
      tree.nodes.filter(isFunction).flatMap((node) => {
        const [first, last] = tree.linesOf(node);
        const lines = last - first < LONGEST_FUNCTION ? 0 : ownLines(tree, node);
        return lines > LONGEST_FUNCTION ? [`${tree.file}:${first}: ${lines} lines`] : [];
      }),
    );
    expect(tooLong).toEqual([]);
  });

  test('every use of the type any has a reason on the line above', () => {
    const unexplained = treesWith(/\bany\b/).flatMap((tree) => {
      const lines = tree.text.split('\n');
      return violations([tree], (node) => {
        if (node.type !== 'TsKeywordType' || node.kind !== 'any') return undefined;
        const above = lines[tree.linesOf(node)[0] - 2] ?? '';
        return /biome-ignore lint\/suspicious\/noExplicitAny: \S/.test(above) ? undefined : 'any';
      });
    });
    expect(unexplained).toEqual([]);
  });

  test('nothing is marked as unfinished', () => {
    const words = new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK'].join('|')})\\b`);
    const texts = files.filter((file) => /\.(?:ts|mjs|cjs|js|proto|md|ya?ml|sh|json)$/.test(file));
    const unfinished = texts
      .filter((file) => file !== 'package-lock.json' && !file.startsWith('proto/gen/'))
      .flatMap((file) =>
        read(file)
          .split('\n')
          .flatMap((line, i) => (words.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
      );
    expect(unfinished).toEqual([]);
  });
});

test('no test is skipped or exclusive', () => {
  const RESTRICTION = /\.\s*(?:only|skip|todo|failing)\b|\b(?:xit|xtest|xdescribe|fit|fdescribe)\b/;
  const tests = treesWith(RESTRICTION, sources.filter(isTestCode));
  const STARTS = /^(?:test|it|describe)(?:\.\w+)*\.(?:only|skip|todo|failing)(?:\.|$)/;
  const restricted = violations(tests, (node) => {
    const name = node.type === 'CallExpression' ? dotted(node.callee) : dotted(node);
    if (name === undefined) return undefined;
    if (node.type === 'MemberExpression') return STARTS.test(name) ? name : undefined;
    return /^(?:xit|xtest|xdescribe|fit|fdescribe)$/.test(name) ? name : undefined;
  });
  expect(restricted).toEqual([]);
});

describe('test titles (docs/writing.md)', () => {
  /**
   * A test title that only makes sense after its `describe`. It begins with a verb or a relative pronoun, or with a
   * preposition or conjunction without the comma that would end an introductory phrase.
   */
  const TITLE: Pattern = {
    fault:
      /^(?:also|and|or|but|not|that|which|whose|is|are|was|were|has|have|can|may|must|needs|does|gives|takes|keeps|ends|counts|stays|says|shows|works|refuses|gets)\b|^(?:of|by|as|in|at(?! (?:most|least)\b)|on|to|for|from|with|without|after|before|when|while|until|if)\b[^,]*$/,
    instead: 'a full clause with a subject, because -t and a failure line show it alone',
    example: ['ends with its token', 'a session ends when its token expires'],
  };

  /** A title that calls a response an answer, or says that something "is" a status. */
  const RESPONSE: Pattern = {
    fault:
      /\b(?:an?|the|each|every|no|its|their|same|early|lost) answers?\b|\b(?:is|are|was|were) [45]\d\d\b/i,
    instead: 'response, returns, or is rejected with',
    example: ['an unknown id is 404, and a lost answer is repeated', 'an unknown id returns 404'],
  };

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

  const titles = treesWith(/\btest\b/, sources.filter(isTestCode)).flatMap((tree) =>
    tree.nodes.flatMap((node) => {
      const title = titleOf(node);
      return title === undefined ? [] : [{ at: `${tree.file}:${tree.linesOf(node)[0]}`, title }];
    }),
  );

  test('every test title is a full clause with a subject', () => {
    const halves = titles.filter(({ title }) => TITLE.fault.test(title));
    expect(titles.length).toBeGreaterThan(1_000);
    expect(halves.map(({ at, title }) => `${at}: ${title}`)).toEqual([]);
  });

  test('every test title says that a request returns a response or a status', () => {
    const others = titles.filter(({ title }) => RESPONSE.fault.test(title));
    expect(others.map(({ at, title }) => `${at}: ${title}`)).toEqual([]);
  });

  test.each([TITLE, RESPONSE])(
    '$fault matches its faulty example but not the better one',
    ({ fault, example: [faulty, better] }) => {
      expect(faulty).toMatch(fault);
      expect(better).not.toMatch(fault);
    },
  );
});
