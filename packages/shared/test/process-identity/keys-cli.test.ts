import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';

const program = fileURLToPath(new URL('../../src/process-identity/keys-cli.ts', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'keys-cli-'));
afterAll(() => rmSync(directory, { recursive: true }));

const run = (...args: string[]) =>
  spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    encoding: 'utf8',
  });

const publicKeys = (): unknown[] =>
  JSON.parse(readFileSync(join(directory, 'public/wallet.json'), 'utf8')).keys;
const privateKey = (): string => readFileSync(join(directory, 'private/wallet/key.json'), 'utf8');

test('keys are made once, and replaced in three steps; nothing secret is printed', () => {
  const first = run('create', directory);
  expect([first.status, first.stdout]).toEqual([0, expect.stringContaining('wallet')]);
  expect(run('create', directory).stdout).toBe(`No keys had to be made in ${directory}.\n`);
  const old = privateKey();
  expect([run('begin', directory, 'wallet').status, publicKeys().length, privateKey()]).toEqual([0, 2, old]);
  expect([run('switch', directory, 'wallet').status, publicKeys().length]).toEqual([0, 2]);
  expect(privateKey()).not.toBe(old);
  expect([run('finish', directory, 'wallet').status, publicKeys().length]).toEqual([0, 1]);
  expect(first.stdout).not.toContain(JSON.parse(old).d);
});

test('a failure is explained without a stack', () => {
  const { status, stderr } = run('create', '/dev/null/keys');
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^failed: ENOTDIR: .*\n$/)]);
});

test.each([
  ['nothing', []],
  ['no directory', ['create']],
  ['no process', ['rotate', directory]],
  ['an unknown process', ['begin', directory, 'nobody']],
  ['an unknown command', ['forget', directory, 'wallet']],
])('wrong usage is explained: %s', (_what, args) => {
  const { status, stderr } = run(...args);
  expect([status, stderr]).toEqual([64, expect.stringContaining('npm run keys -- create')]);
});
