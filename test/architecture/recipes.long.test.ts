/**
 * Performs recipes on a copy of the repository, changing exactly what they name. Their test commands must pass at the end.
 * Edits are made at anchors: texts that occur exactly once in the sources.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commandsOf, readRecipe } from './recipes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const CATALOGUES = 'packages/shared/src/kernel/i18n/catalogues';
/** Only stops a recipe that hangs: each takes less than a minute on an idle machine. */
const LIMIT_MS = 20 * 60_000;

let directory = '';
let copy = '';
// One copy for all recipes: the type check of the second one covers only what has changed since the first one.
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'recipes-'));
  copy = join(directory, 'copy');
  copyRepository();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Copies everything except files in .gitignore. Packages are linked; workspace links lead into the copy. */
const copyRepository = (): void => {
  const left = new Set(['node_modules', '.git', '.data', '.env', 'coverage']);
  cpSync(root, copy, { recursive: true, filter: (source) => !left.has(basename(source)) });
  // The architecture tests ask git for the files.
  run('git', 'init', '--quiet');
  mkdirSync(join(copy, 'node_modules/@fitness'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules/@fitness')))
    symlinkSync(
      readlinkSync(join(root, 'node_modules/@fitness', name)),
      join(copy, 'node_modules/@fitness', name),
    );
  for (const name of readdirSync(join(root, 'node_modules')).filter((each) => each !== '@fitness'))
    link(join('node_modules', name));
  // npm writes to this file, so it is copied instead of linked.
  rmSync(join(copy, 'node_modules/.package-lock.json'));
  copyFileSync(join(root, 'node_modules/.package-lock.json'), join(copy, 'node_modules/.package-lock.json'));
  for (const path of globSync(
    ['{gateway,sandbox,proto}/node_modules', '{packages,services}/*/node_modules'],
    { cwd: root },
  ))
    link(path);
};

const link = (path: string): void => symlinkSync(join(root, path), join(copy, path));

const { TEST_RESULTS: _results, JEST_WORKER_ID: _worker, ...inherited } = process.env;

/** Runs a command in the copy and expects it to succeed. */
const run = (command: string, ...args: string[]): void => {
  const env = {
    ...inherited,
    DATA_DIRECTORY: join(directory, 'data'),
    NODE_COMPILE_CACHE: join(directory, 'compiled'),
  };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: copy, encoding: 'utf8', env });
  expect([command, ...args, status, status === 0 ? '' : `${stdout}\n${stderr}`.slice(-12_000)]).toEqual([
    command,
    ...args,
    0,
    '',
  ]);
};

/** Replaces `anchor`, which the file must contain exactly once. */
const replace = (file: string, anchor: string, replacement: string): void => {
  const parts = readFileSync(join(copy, file), 'utf8').split(anchor);
  if (parts.length !== 2)
    throw new Error(
      `${file} contains ${JSON.stringify(anchor)} ${parts.length - 1} times: this test must follow its new form, and so may the recipe.`,
    );
  writeFileSync(join(copy, file), parts.join(replacement));
};
const insertBefore = (file: string, anchor: string, text: string): void =>
  replace(file, anchor, text + anchor);

/** The texts of these recipes, without line breaks. */
const recipe = (...names: string[]): string => names.map(readRecipe).join(' ').replaceAll(/\s+/g, ' ');

interface Step {
  /** The words of the recipe that this step follows. */
  named: string;
  perform: () => void;
}

const perform = (text: string, steps: readonly Step[]): void => {
  for (const step of steps) {
    expect(text).toContain(step.named);
    step.perform();
  }
};

/** Runs the test commands of a recipe. */
const check = (name: string, service: string): void => {
  for (const command of commandsOf(readRecipe(name))) {
    const [program = '', ...args] = command.replaceAll('<service>', service).split(' ');
    run(program, ...args);
  }
};

const GENERATE: Step = { named: '`npm run generate`', perform: () => run('npm', 'run', 'generate') };

test(
  'the recipe for a gym field leads to passing checks',
  () => {
    const document = 'services/gyms/src/store/gym-document.ts';
    const update = '"description": "Open every day.",\n';
    perform(recipe('gym-field'), [
      {
        named: '`services/gyms/src/domain/gym-fields.ts`',
        perform: () =>
          insertBefore(
            'services/gyms/src/domain/gym-fields.ts',
            '  user_id: {\n',
            `  landmark: {
    stored: 'landmark',
    description: 'What helps to find the gym',
    create: oneLine('Landmark', shortText).nullable().optional(),
    update: oneLine('Landmark', shortText).nullable(),
    shown: textOrNull,
  },
`,
          ),
      },
      {
        named: 'its stored form',
        perform: () =>
          insertBefore(document, '  lat: { type: Number', '  landmark: { type: String, default: null },\n'),
      },
      {
        named: '`gateway/src/api/examples/places.json`',
        perform: () =>
          insertBefore('gateway/src/api/examples/places.json', update, '"landmark": "A square",\n    '),
      },
      GENERATE,
      {
        named: 'Two tests compare a whole gym',
        perform: () => {
          insertBefore(
            'services/gyms/src/domain/gym-fields.test.ts',
            '    show_crowd: false',
            '    landmark: null,\n',
          );
          insertBefore(
            'services/gyms/test/create-and-read.test.ts',
            '        show_crowd: false',
            '        landmark: null,\n',
          );
        },
      },
    ]);
    check('gym-field', 'gyms');
  },
  LIMIT_MS,
);

test(
  'the recipe for a blocker leads to passing checks',
  () => {
    const row = '| `active_premium`     |';
    const text = (locale: string, key: string, value: string): void =>
      insertBefore(
        `${CATALOGUES}/${locale}.json`,
        '  "blocker.active_premium":',
        `  "${key}": "${value}",\n`,
      );
    perform(recipe('blocker'), [
      {
        named: '`packages/contracts/src/blockers.ts`',
        perform: () =>
          insertBefore(
            'packages/contracts/src/blockers.ts',
            "  { code: 'active_premium'",
            "  { code: 'many_trainees', owner: 'content', extras: z.object({ count }) },\n",
          ),
      },
      {
        named: '`services/<service>/src/app/blockers.ts`',
        perform: () =>
          insertBefore(
            'services/content/src/app/blockers.ts',
            '  /** The seller’s undelivered trainees',
            `  many_trainees: async (userId) => {
    const count = await store.trainees.countUndelivered(userId);
    return count > 100 ? { count } : undefined;
  },
`,
          ),
      },
      {
        named: 'the missing texts',
        perform: () => {
          for (const file of readdirSync(join(copy, CATALOGUES))) {
            const locale = basename(file, '.json');
            text(locale, 'blocker.many_trainees_one', '{count} trainee is too many.');
            text(locale, 'blocker.many_trainees_other', '{count} trainees are too many.');
            text(locale, 'account_deletion.settle.many_trainees', 'Deliver what they bought.');
            text(locale, 'ops.blocker.many_trainees_one', 'has {count} trainee to deliver to');
            text(locale, 'ops.blocker.many_trainees_other', 'has {count} trainees to deliver to');
          }
        },
      },
      {
        named: 'A test names the documents that lack it',
        perform: () => {
          insertBefore(
            'docs/guides/apps/deletion.md',
            row,
            '| `many_trainees` | `count` | delivers what was bought |\n',
          );
          replace(
            'services/content/README.md',
            '`active_trainees`,',
            '`active_trainees` and `many_trainees`,',
          );
        },
      },
      GENERATE,
    ]);
    check('blocker', 'content');
  },
  LIMIT_MS,
);
