/** The service in a separate process, so tests can measure its memory and kill it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { nodeFlags } from '../../../scripts/lib/node-flags.mjs';
import type { MediaConfig } from '../src/config.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface Child {
  /** `http://host:port` */
  url: string;
  pid: number;
  /** Resident memory in MiB: now, and the peak since the last {@link resetPeak}. */
  memory(): { now: number; peak: number };
  resetPeak(): void;
  /** Sends SIGKILL. Resolves after the exit. */
  kill(): Promise<void>;
  exited: Promise<unknown>;
}

/** Runs `main` (by default the service's) with `environment` added to the configuration. */
export const startChild = async (
  config: MediaConfig,
  { main = MAIN, environment = {} }: { main?: string; environment?: Record<string, string> } = {},
): Promise<Child> => {
  const variables = Object.entries({ ...config, LOG_LEVEL: 'info' }).map(([name, value]) => [
    name,
    String(value),
  ]);
  const child = spawn(process.execPath, [...nodeFlags, main], {
    env: { PATH: process.env.PATH, ...Object.fromEntries(variables), ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const url = await readyAt(child, exited);
  const status = (field: string): number => {
    const text = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) / 1024;
  };
  let peak = 0;
  const sampler = setInterval(() => {
    if (child.exitCode === null && child.signalCode === null) peak = Math.max(peak, status('VmRSS'));
  }, 10);
  void exited.then(() => clearInterval(sampler));
  return {
    url,
    pid: child.pid ?? 0,
    memory: () => {
      const now = status('VmRSS');
      return { now, peak: Math.max(peak, now) };
    },
    resetPeak: () => {
      peak = 0;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    exited,
  };
};

/** The URL in the log line "ready". */
const readyAt = async (child: ChildProcess, exited: Promise<unknown>): Promise<string> => {
  let output = '';
  child.stdout?.on('data', (text) => {
    output += text;
  });
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const url = await eventually(
    () => {
      if (ended) throw new Error(`the service ended at once: ${output}`);
      return /"url":"(http:[^"]+)"/.exec(output)?.[1];
    },
    { timeoutMs: 120_000 },
  );
  child.stdout?.removeAllListeners('data').resume();
  return url;
};
