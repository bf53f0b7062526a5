/** Tests the supervision of processes that commands start. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { createRestarts } from '../../scripts/lib/restarts.mjs';
import { startProcess } from '../../scripts/lib/start-process.mjs';
import { createSupervisor } from '../../scripts/lib/supervisor.mjs';
import { pause } from '../../scripts/lib/time.mjs';
import { root } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'supervisor-'));
const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
  rmSync(directory, { recursive: true, force: true });
});

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
  for (const file of [logFile, `${logFile}.1`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(present.startsWith('\0')).toBe(false);
});

/** Replaces a file, as vim, JetBrains and `git checkout` do. */
const save = (name: string, text: string): void => {
  const file = join(directory, 'program/src', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
};

test('a process under development restarts after each change, and only then after a syntax error', async () => {
  const [http = 0, inspectorPort = 0] = await freePorts(2);
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const giveUp = (why: string) => void lines.push(`gave up: ${why}`);
  const supervisor = createSupervisor({ onUnexpectedExit: createRestarts({ log, giveUp }) });
  ends.push(supervisor.stopAll);
  save(
    'main.mjs',
    `import { createServer } from 'node:http';
    import { text } from './text.mjs';
    createServer((_request, response) => response.end(text)).listen(process.env.HTTP_PORT, '127.0.0.1');`,
  );
  save('text.mjs', "export const text = 'first';");
  const part = {
    name: 'program',
    main: join(root, 'program/src/main.mjs'),
    tier: 'service' as const,
    ports: { http },
    readyPath: '/',
  };
  const context = { supervisor, logDirectory: directory, ports: new Map([['program', { http }]]) };
  const started = startProcess(
    part,
    { ...context, environment: process.env },
    { directory, development: { inspectorPort, log } },
  );
  await started.ready;
  const shown = async () => {
    const response = await fetch(started.url).catch(() => undefined);
    return response?.text();
  };
  const untilShown = async (text: string) => {
    while ((await shown()) !== text) await pause(20);
  };

  for (const text of ['second', 'third']) {
    save('text.mjs', `export const text = '${text}';`);
    await untilShown(text);
  }
  save('folder/inner.mjs', "export const inner = 'a folder';");
  save('text.mjs', "export { inner as text } from './folder/inner.mjs';");
  await untilShown('a folder');
  save('folder/inner.mjs', "export const inner = 'a changed folder';");
  await untilShown('a changed folder');
  expect(lines.filter((line) => line.startsWith('program restarts: '))).toHaveLength(4);

  save('text.mjs', 'export const text = ;');
  const waits = 'program has ended by itself (exit code 1): it starts again on the next change';
  while (!lines.includes(waits)) await pause(20);
  save('text.mjs', "export const text = 'corrected';");
  await untilShown('corrected');
  expect(lines.filter((line) => line.startsWith('gave up'))).toEqual([]);
  expect((await fetch(`http://127.0.0.1:${inspectorPort}/json/list`)).ok).toBe(true);
});
