/** Checks the alert rules with Prometheus's own program, which also runs their firing and silent cases. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findExecutable } from '../../scripts/lib/paths.mjs';
import { findOrInstall } from '../../scripts/lib/servers/apt.mjs';
import { createSupervisor } from '../../scripts/lib/supervisor.mjs';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../../deploy/observability', import.meta.url));
const logs = mkdtempSync(join(tmpdir(), 'promtool-'));
afterAll(() => rmSync(logs, { recursive: true, force: true }));

beforeAll(async () => {
  const context = { supervisor: createSupervisor(), logDirectory: logs, log: console.error };
  await findOrInstall(context, 'promtool', 'prometheus');
}, 5 * 60_000);

const promtool = async (...args: string[]): Promise<string> => {
  const { stdout, stderr } = await run(findExecutable('promtool') ?? 'promtool', args, { cwd });
  return stdout + stderr;
};

test('promtool accepts the alert rules', async () => {
  expect(await promtool('check', 'rules', 'alerts.yml')).toContain('SUCCESS');
});

test('each alert fires in its case, even for the first event of a series, and is silent in the other case', async () => {
  expect(await promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
}, 180_000);
