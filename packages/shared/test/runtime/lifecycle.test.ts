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
  const output = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    output.out += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.err += chunk.toString('utf8');
  });
  const ended = new Promise<number | string | null>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  const ready = () => until(() => output.out.includes('ready'));
  return { child, output, ended, ready };
};

/** Sends the signals once the process is up, and waits for its end. */
const runUntilSignal = async (scenario: string, signals: NodeJS.Signals[] = ['SIGTERM']) => {
  const { child, output, ended, ready } = run(scenario);
  await ready();
  for (const signal of signals) {
    child.kill(signal);
    await pause(5);
  }
  return { code: await ended, output };
};

const closings = (out: string): string[] => out.split('\n').filter((line) => line.startsWith('closed'));
const REVERSED = ['closed transport', 'closed broker', 'closed database'];

describe('a process that cannot start', () => {
  test('an invalid configuration prints one line with the variables and exits 78', async () => {
    const { output, ended } = run('wrong configuration');
    expect(await ended).toBe(78);
    expect(output.err).toMatch(/^Wrong configuration: HTTP_PORT: [^\n]*; SECRET: [^\n]*\n$/);
    expect(output.err + output.out).not.toContain('swordfish');
  });

  test('a failed start prints its reason without secrets and exits 1', async () => {
    const { output, ended } = run('no server');
    expect(await ended).toBe(1);
    expect(output.err).toContain('could not start: Error: connect ECONNREFUSED');
    expect(output.err).not.toContain('swordfish');
  });
});

describe('a process that gets a signal', () => {
  test.each<[NodeJS.Signals]>([['SIGTERM'], ['SIGINT']])(
    'a process that gets %s closes its parts in reverse and exits 0',
    async (signal) => {
      const { code, output } = await runUntilSignal('normal', [signal]);
      expect([code, closings(output.out)]).toEqual([0, REVERSED]);
    },
  );

  test('a process that gets several signals closes once', async () => {
    const { code, output } = await runUntilSignal('normal', ['SIGTERM', 'SIGTERM', 'SIGINT']);
    expect([code, closings(output.out)]).toEqual([0, REVERSED]);
  });

  test('a part that fails to close is logged by name, and the other parts are closed', async () => {
    const { code, output } = await runUntilSignal('a part that fails to close');
    expect([code, closings(output.out)]).toEqual([0, REVERSED]);
    expect(output.out).toContain('"resource":"broken"');
  });

  test('a process exits even if closing fails', async () => {
    const { code, output } = await runUntilSignal('closing that fails');
    expect(code).toBe(0);
    expect(output.out).toContain('it is stuck');
  });

  test('a signal during the start closes what has been opened', async () => {
    const { code, output } = await runUntilSignal('a slow start');
    expect([code, closings(output.out)]).toEqual([0, REVERSED]);
  });

  test('a process exits 0 at its deadline although its shutdown or its start hangs', async () => {
    const runs = await Promise.all([
      runUntilSignal('closing that hangs'),
      runUntilSignal('a start that hangs'),
    ]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0]);
    expect(runs[0]?.output.out).toContain('shutdown took too long');
  });

  test('the shutdown deadline is nine seconds, one before an orchestrator kills', () => {
    expect(SHUTDOWN_DEADLINE_MS).toBeLessThanOrEqual(9_000);
  });
});

describe('an unhandled error', () => {
  test('an unhandled rejection is logged, and the process continues', async () => {
    const { child, output, ended } = run('a rejection that nobody handles');
    await until(() => output.out.includes('forgotten') && output.out.includes('going on'));
    expect(child.exitCode).toBeNull();
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  test('an uncaught exception is logged, and the process exits 1', async () => {
    const { output, ended } = run('an exception that nobody catches');
    expect(await ended).toBe(1);
    expect(output.out).toContain('uncaught');
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
