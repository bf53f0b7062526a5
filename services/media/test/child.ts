/** The service as a process of its own: its memory can be measured, and it can be killed. */
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
  /** MiB of memory that are in use now, and were at most since the last {@link resetPeak}. */
  memory(): { now: number; peak: number };
  resetPeak(): void;
  /** At once, as by `kill -9`; resolves when it is gone. */
  kill(): Promise<void>;
  exited: Promise<unknown>;
}

/** `main` is another program than the service's own; its environment has `environment` besides. */
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

/** From the line that says "ready". */
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
      if (ended) throw new Error(`the service has ended at once: ${output}`);
      return /"url":"(http:[^"]+)"/.exec(output)?.[1];
    },
    { timeoutMs: 30_000 },
  );
  child.stdout?.removeAllListeners('data').resume();
  return url;
};
