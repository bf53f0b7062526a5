import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createCleanup, SHUTDOWN_DEADLINE_MS } from '../../src/runtime/lifecycle.ts';
import { pause, until } from '../messaging/support.ts';

const fixture = fileURLToPath(new URL('./fixture.ts', import.meta.url));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

const run = (scenario: string) => {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', fixture, scenario], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    said.out += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said.err += chunk.toString('utf8');
  });
  const ended = new Promise<number | string | null>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  const ready = () => until(() => said.out.includes('ready'));
  return { child, said, ended, ready };
};

/** Sends `signal` once the process is up, and waits for its end. */
const runUntilAsked = async (scenario: string, signals: NodeJS.Signals[] = ['SIGTERM']) => {
  const { child, said, ended, ready } = run(scenario);
  await ready();
  for (const signal of signals) {
    child.kill(signal);
    await pause(5);
  }
  return { code: await ended, said };
};

const closings = (out: string): string[] => out.split('\n').filter((line) => line.startsWith('closed'));
const REVERSED = ['closed transport', 'closed broker', 'closed database'];

describe('a process that cannot start', () => {
  test('for an invalid configuration prints one line with the variables and exits 78', async () => {
    const { said, ended } = run('wrong configuration');
    expect(await ended).toBe(78);
    expect(said.err).toMatch(/^Wrong configuration: HTTP_PORT: [^\n]*; SECRET: [^\n]*\n$/);
    expect(said.err + said.out).not.toContain('swordfish');
  });

  test('for another reason prints it and exits 1', async () => {
    const { said, ended } = run('no server');
    expect(await ended).toBe(1);
    expect(said.err).toContain('could not start: Error: connect ECONNREFUSED');
  });
});

describe('a process that gets a signal', () => {
  test.each<[NodeJS.Signals]>([['SIGTERM'], ['SIGINT']])(
    'by %s closes its parts in reverse and exits 0',
    async (signal) => {
      const { code, said } = await runUntilAsked('normal', [signal]);
      expect([code, closings(said.out)]).toEqual([0, REVERSED]);
    },
  );

  test('twice closes once', async () => {
    const { code, said } = await runUntilAsked('normal', ['SIGTERM', 'SIGTERM', 'SIGINT']);
    expect([code, closings(said.out)]).toEqual([0, REVERSED]);
  });

  test('closes the other parts when one fails, and logs its name', async () => {
    const { code, said } = await runUntilAsked('a part that fails to close');
    expect([code, closings(said.out)]).toEqual([0, REVERSED]);
    expect(said.out).toContain('"resource":"broken"');
  });

  test('exits also when closing fails', async () => {
    const { code, said } = await runUntilAsked('closing that fails');
    expect(code).toBe(0);
    expect(said.out).toContain('it is stuck');
  });

  test('during its start closes what it has opened', async () => {
    const { code, said } = await runUntilAsked('a slow start');
    expect([code, closings(said.out)]).toEqual([0, REVERSED]);
  });

  test('exits 0 at its deadline although its shutdown or its start hangs', async () => {
    const runs = await Promise.all([
      runUntilAsked('closing that hangs'),
      runUntilAsked('a start that hangs'),
    ]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0]);
    expect(runs[0]?.said.out).toContain('shutdown took too long');
  });

  test('has a shutdown deadline of nine seconds, one before an orchestrator kills', () => {
    expect(SHUTDOWN_DEADLINE_MS).toBeLessThanOrEqual(9_000);
  });
});

describe('an unhandled error', () => {
  test('as a rejection is logged, and the process continues', async () => {
    const { child, said, ended } = run('a rejection that nobody handles');
    await until(() => said.out.includes('forgotten') && said.out.includes('going on'));
    expect(child.exitCode).toBeNull();
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  test('as an exception is logged, and the process exits 1', async () => {
    const { said, ended } = run('an exception that nobody catches');
    expect(await ended).toBe(1);
    expect(said.out).toContain('uncaught');
  });
});

test('closing twice at once closes each part once, and both wait for it', async () => {
  const cleanup = createCleanup();
  let closed = 0;
  cleanup.defer('slow', async () => {
    await pause(20);
    closed += 1;
  });
  const first = cleanup.close();
  await cleanup.close();
  expect(closed).toBe(1);
  await first;
  expect(closed).toBe(1);
});
