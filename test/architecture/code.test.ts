import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { describe, expect, test } from '@jest/globals';
import { dotted, files, isTestCode, type Node, parse, read, sources, walk } from './support.ts';

const LONGEST_FUNCTION = 70;
const trees = sources.map(parse);
const productTrees = trees.filter(({ file }) => !isTestCode(file));

/** `file:line: what` for every node that `find` reports a problem for. */
const violations = (among: typeof trees, find: (node: Node) => string | undefined): string[] =>
  among.flatMap((tree) =>
    tree.nodes.flatMap((node) => {
      const problem = find(node);
      return problem === undefined ? [] : [`${tree.file}:${tree.linesOf(node)[0]}: ${problem}`];
    }),
  );

test('every source is parsed', () => {
  expect(sources.length).toBeGreaterThan(100);
  for (const { body } of trees) expect(body.body.length).toBeGreaterThan(0);
});

describe('readers of external input', () => {
  test('the environment is read only in config.ts and in commands', () => {
    const readers = /(?:^|\/)config\.ts$|-cli\.ts$/;
    const others = productTrees.filter(({ file }) => !readers.test(file));
    expect(
      violations(others, (node) => (dotted(node) === 'process.env' ? 'process.env' : undefined)),
    ).toEqual([]);
  });

  test('the system clock is read only in clock.ts', () => {
    const others = productTrees.filter(({ file }) => file !== 'packages/shared/src/kernel/clock.ts');
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
    const computed = productTrees.filter(
      ({ file }) => !file.includes('/domain/') && /\b(?:\w+_)?(?:LEASE|CLAIM)_MS\b/.test(read(file)),
    );
    expect(computed.length).toBeGreaterThan(4);
    expect(computed.filter(({ file }) => !/\brealTime\b/.test(read(file))).map(({ file }) => file)).toEqual(
      [],
    );
  });

  test('numbers and dates are formatted for people only in translate.ts', () => {
    const FORMATTERS = {
      'packages/shared/src/kernel/i18n/translate.ts': 'the place',
      'packages/shared/src/kernel/i18n/typed-day.ts': 'days that people type, and as they type them',
      'packages/shared/src/kernel/counted.ts': 'English texts of commands',
      'packages/shared/src/http/pagination.ts': 'the English description of a parameter',
      'services/gyms/src/domain/working-periods.ts': 'the clock of a gym, for calculations',
    };
    const formats = violations(productTrees, (node) => {
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
    const others = productTrees.filter(({ file }) => !stores.test(file));
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
    'services/identity/src/store/oauth.ts': [2, 'the limit of a step'],
    'services/identity/src/store/restored-credentials.ts': [1, 'the limit of a step'],
    'services/identity/src/store/tokens.ts': [1, 'the limit of a step'],
    'services/identity/src/store/upgrades.ts': [1, 'in no transaction'],
    'services/media/src/store/media.ts': [1, 'the batch of delete-media-of-target.ts'],
    'services/store-billing/src/store/refunds.ts': [1, 'the limit of a step'],
    'services/wallet/src/store/bulk-write.ts': [1, 'the bookings of one entry, MAX_BOOKINGS'],
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
    const counted = productTrees
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
  const ownLines = (tree: (typeof trees)[number], node: Node): number => {
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
    const others = trees.filter(({ file }) => !file.endsWith('.test.ts'));
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
    const unexplained = trees.flatMap((tree) => {
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
  const tests = trees.filter(({ file }) => isTestCode(file));
  const STARTS = /^(?:test|it|describe)(?:\.\w+)*\.(?:only|skip|todo|failing)(?:\.|$)/;
  const restricted = violations(tests, (node) => {
    const name = node.type === 'CallExpression' ? dotted(node.callee) : dotted(node);
    if (name === undefined) return undefined;
    if (node.type === 'MemberExpression') return STARTS.test(name) ? name : undefined;
    return /^(?:xit|xtest|xdescribe|fit|fdescribe)$/.test(name) ? name : undefined;
  });
  expect(restricted).toEqual([]);
});
