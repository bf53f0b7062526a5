/** Load by wrk (https://github.com/wg/wrk): each connection sends the next request after the last response. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SECONDS, WRK } from './config.ts';
import type { Run } from './measure.ts';

interface Load {
  origin: string;
  /** Paths that are requested in turn. */
  paths: readonly string[];
  /** JSON bodies, one for each path. With bodies the requests are POSTs. */
  bodies?: readonly unknown[];
  headers?: Readonly<Record<string, string>>;
  connections?: number;
}

export const CONNECTIONS = 32;

const directory = mkdtempSync(join(tmpdir(), 'fitness-wrk-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
const list = join(directory, 'paths');
const script = fileURLToPath(new URL('./load.lua', import.meta.url));

/** Throws if a response is missing or unsuccessful. */
export const load = async (options: Load): Promise<Run> => {
  const { origin, paths, bodies, headers = {}, connections = CONNECTIONS } = options;
  if (WRK === undefined) throw new Error('wrk is not installed');
  const lines = paths.map((path, index) => (bodies ? `${path} ${JSON.stringify(bodies[index])}` : path));
  writeFileSync(list, `${lines.join('\n')}\n`);
  const args = [
    // One thread outpaces all measured processes and leaves the other cores to them.
    ...['-t1', `-c${connections}`, `-d${SECONDS}s`, '--timeout', '30s', '-s', script],
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    ...[origin, '--', list],
  ];
  const { stdout } = await promisify(execFile)(WRK, args);
  const run = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Run & { failed: number };
  if (run.failed > 0) throw new Error(`${run.failed} of ${run.count} answers were no success`);
  if (run.count === 0) throw new Error(`no response within ${SECONDS} s`);
  return run;
};
