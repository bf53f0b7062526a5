/** Tests the supervision of processes that commands start. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { createSupervisor } from '../../scripts/lib/supervisor.mjs';

const directory = mkdtempSync(join(tmpdir(), 'supervisor-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('a long log is cut, and logging continues', async () => {
  const limit = { bytes: 20_000, checkMs: 20 };
  const supervisor = createSupervisor({ logLimit: limit });
  const logFile = join(directory, 'talkative.log');
  const talk = `let n = 0;
    const timer = setInterval(() => {
      for (let i = 0; i < 20; i += 1) console.log(\`line \${++n} \${'x'.repeat(90)}\`);
      if (n === 2000) clearInterval(timer);
    }, 5);`;
  const child = supervisor.start({
    name: 'talkative',
    tier: 'tool',
    command: process.execPath,
    args: ['-e', talk],
    logFile,
  });
  child.endExpected = true;
  await child.exited;
  expect(child.ended).toBe('exit code 0');
  const [present, former] = [readFileSync(logFile, 'utf8'), readFileSync(`${logFile}.1`, 'utf8')];
  expect(former + present).toContain('line 2000 ');
  // The process has written 200 KB.
  expect(statSync(logFile).size).toBeLessThan(5 * limit.bytes);
  expect(present.startsWith('\0')).toBe(false);
});
