/** Checks the alert rules with Prometheus's own program, which also runs their cases, and the example of Alertmanager with its own. */
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
  await findOrInstall(context, 'amtool', 'prometheus-alertmanager');
}, 5 * 60_000);

const program =
  (name: string) =>
  async (...args: string[]): Promise<string> => {
    const { stdout, stderr } = await run(findExecutable(name) ?? name, args, { cwd });
    return stdout + stderr;
  };
const promtool = program('promtool');
const amtool = program('amtool');

test('promtool accepts the alert rules', async () => {
  expect(await promtool('check', 'rules', 'alerts.yml')).toContain('SUCCESS');
});

test.each(['alerts.test.yml', 'alerts.days.test.yml'])(
  '%s: alerts fire, even for the first event of a series, are silent, and do not end because their source is down',
  async (file) => {
    expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
  },
  180_000,
);

test('amtool accepts the example of Alertmanager, which sends each severity to its own receiver', async () => {
  expect(await amtool('check-config', 'alertmanager.yml')).toContain('SUCCESS');
  const routed = ['critical', 'warning'].map((severity) =>
    amtool('config', 'routes', 'test', '--config.file=alertmanager.yml', `severity=${severity}`),
  );
  // A warning about an unused option follows.
  expect((await Promise.all(routed)).map((text) => text.split('\n')[0])).toEqual(['page', 'notice']);
});
