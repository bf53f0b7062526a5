/** Processes that tests stop while they are used. */
import { type ChildProcess, spawn } from 'node:child_process';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ProcessName } from '../kernel/process-name.ts';
import { testConfig } from './harness.ts';

export interface Running {
  child: ChildProcess;
  /** The log line announcing that the process is up, with its addresses. */
  ready: { url: string; grpc: string };
  exited: Promise<number | string | null>;
}

/** Resolves when the log of the process says `message`. */
export const startNode = async (
  file: string,
  environment: NodeJS.ProcessEnv,
  message: string,
): Promise<Running> => {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<number | string | null>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal));
  });
  const ready = await new Promise<Running['ready']>((resolve, reject) => {
    const lines = createInterface(child.stdout as NodeJS.ReadableStream);
    lines.on('line', (line) => {
      const entry = line.startsWith('{') ? JSON.parse(line) : {};
      if (entry.msg === message) resolve(entry);
    });
    void exited.then((code) => reject(new Error(`it ended with ${code}`)));
  });
  return { child, ready, exited };
};

export const startService = (service: ProcessName, variables: object = {}): Promise<Running> => {
  const config = { ...testConfig(service), LOG_LEVEL: 'info', service, ...variables };
  const file = fileURLToPath(new URL('./stopping-process.ts', import.meta.url));
  return startNode(file, { CONFIG: JSON.stringify(config) }, 'ready');
};

/** Sends a request whose body takes `durationMs`. Resolves with the status of its response. */
export const uploadSlowly = (
  url: string,
  headers: Record<string, string>,
  durationMs: number,
): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sending = request(url, { method: 'POST', headers, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    sending.once('error', reject);
    sending.write('begin');
    const dripping = setInterval(() => sending.write('more'), 250);
    const ending = setTimeout(() => {
      clearInterval(dripping);
      sending.end('end');
    }, durationMs);
    // If the connection ends first, the remaining timer would keep the test process alive.
    sending.once('close', () => {
      clearInterval(dripping);
      clearTimeout(ending);
    });
  });
