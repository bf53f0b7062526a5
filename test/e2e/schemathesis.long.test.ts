/** Schemathesis checks that the product matches its document, as three callers. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cacheDirectory, dataDirectory } from '../../scripts/lib/paths.mjs';
import { type OwnProduct, startOwnProduct } from './own-product.ts';
import { administratorToken, api, baseUrl, expectStatus, register, useProduct } from './support.ts';

const run = promisify(execFile);

const VERSION = '4.32.5';
const MAX_EXAMPLES = '2';
/** Each example is a series of requests. With only a few, hardly any follows a link. */
const STATEFUL_EXAMPLES = 20;
/** Operations that end the caller's session or account. */
const ENDING = [
  'postAuthLogout',
  'deleteAuthSessionsById',
  'putAuthChangePassword',
  'postAuthDeleteAccount',
  'deleteUsersById',
  // These would change the administrator of other tests.
  'putUsersById',
  'putRolesById',
];

let program: string;
const directory = mkdtempSync(join(tmpdir(), 'schemathesis-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Installs Schemathesis from PyPI, once per version. It needs Python 3.10 or later. */
const install = async (): Promise<string> => {
  const home = cacheDirectory(`schemathesis-${VERSION}`);
  const installed = join(home, 'bin', 'schemathesis');
  if (existsSync(installed)) return installed;
  await run('python3', ['-m', 'venv', home]);
  await run(join(home, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]);
  return installed;
};

/**
 * Turns off error feedback: a field is not generally required because one request was refused without it. `capacity`
 * is required until a gym has one, and `current_password` with a new email.
 */
const CONFIGURATION = `[phases.fuzzing.error-feedback]
enabled = false
[phases.stateful.generation]
max-examples = ${STATEFUL_EXAMPLES}
`;

/** A separate product, because the administrator's requests delete the demo data. */
let product: OwnProduct;
let leave: () => void;
beforeAll(async () => {
  product = await startOwnProduct(1);
  leave = useProduct(product.stack);
  writeFileSync(join(directory, 'schemathesis.toml'), CONFIGURATION);
  program = await install();
}, 300_000);
afterAll(async () => {
  leave?.();
  await product?.close();
});

const tokenWithRole = async (name: string): Promise<string> => {
  const administrator = await administratorToken();
  const account = await register();
  const roles = expectStatus(await api('GET', '/roles', { token: administrator }), 200).body.data;
  const role = roles.find((one: { name: string }) => one.name === name);
  const body = { role_ids: [role.id] };
  expectStatus(await api('PUT', `/users/${account.id}`, { token: administrator, body }), 200);
  return account.token;
};

/** A summary such as `70 of 77 operations, 4432 generated, 4432 passed, 3 of 432 links`. */
const summaryOf = (output: string): string => {
  const [, tested = '?', all = '?'] = /Selected: (\d+)\/(\d+)/.exec(output) ?? [];
  const [cases = 'no test cases'] = /\d+ generated,.*/.exec(output) ?? [];
  const [, followed = '0', links = '?'] = /(\d+) covered \/ (\d+) selected/.exec(output) ?? [];
  return `${tested} of ${all} operations, ${cases}, ${followed} of ${links} links`;
};

/**
 * The phase `coverage` sends thousands of requests with one wrong value each. A guest's are refused for the missing token, or are
 * the same as a member's.
 */
const CALLERS: [string, string, () => Promise<string | undefined>][] = [
  ['guest', 'examples,fuzzing,stateful', async () => undefined],
  ['member', 'examples,coverage,fuzzing,stateful', async () => (await register()).token],
  ['administrator', 'examples,coverage,fuzzing,stateful', () => tokenWithRole('administrator')],
];

test.each(CALLERS)(
  'the product agrees with its document when the caller is a %s',
  async (name, phases, tokenFor) => {
    const token = await tokenFor();
    const authorization = token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`];
    const args = [
      'run',
      `${baseUrl()}/api/v1/openapi.json`,
      ...['--url', baseUrl(), '--phases', phases],
      ...[
        '--max-examples',
        MAX_EXAMPLES,
        '--seed',
        '1',
        '--workers',
        '1',
        '--continue-on-failure',
        '--no-color',
      ],
      ...['--request-timeout', '30', '--generation-database', 'none', '--no-shrink'],
      // A schema does not contain permissions and business rules, so a valid request may be 422.
      ...['--exclude-checks', 'positive_data_acceptance'],
      ...ENDING.flatMap((id) => ['--exclude-operation-id', id]),
      ...authorization,
    ];
    const outcome = await run(program, args, { cwd: directory, maxBuffer: 64 * 1024 * 1024 }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code?: number; stdout?: string }) => ({
        code: error.code,
        stdout: error.stdout ?? String(error),
      }),
    );
    writeFileSync(join(dataDirectory, 'test-logs', `schemathesis-${name}.txt`), outcome.stdout);
    process.stdout.write(`${name}: ${summaryOf(outcome.stdout)}\n`);
    const [, problems = ''] =
      /^=+ (?:FAILURES|ERRORS) =+$(.*?)^=+ (?:WARNINGS|SUMMARY) =+$/ms.exec(outcome.stdout) ?? [];
    expect(problems).toBe('');
    expect(outcome.stdout).toMatch(/\d{3,} generated, \d{3,} passed/);
    expect(outcome.code).toBe(0);
  },
  1_800_000,
);
