/** Load by wrk (https://github.com/wg/wrk): each connection sends the next request after the last response. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environmentWith, SECONDS, WRK } from './config.ts';
import type { Run } from './figures.ts';

export interface Load {
  origin: string;
  /** Paths that are requested in turn. */
  paths: readonly string[];
  /** JSON bodies, one for each path. With bodies the requests are POSTs. */
  bodies?: readonly unknown[];
  headers?: Readonly<Record<string, string>>;
  seconds?: number;
  connections?: number;
}

export const CONNECTIONS = 32;

/** One thread of wrk outpaces all measured processes and leaves the other cores to them. */
const THREADS = 1;

const SCRIPT = `
local requests, at = {}, 0
function init()
  for line in io.lines(os.getenv("BENCH_PATHS")) do
    local path, body = line:match("^(%S+) (.+)$")
    if body then
      wrk.headers["content-type"] = "application/json"
      requests[#requests + 1] = wrk.format("POST", path, nil, body)
    else
      requests[#requests + 1] = wrk.format("GET", line)
    end
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
  io.write(string.format('\\n{"count":%d,"seconds":%f,"failed":%d}\\n', summary.requests, summary.duration / 1e6, failed))
end
`;

const directory = mkdtempSync(join(tmpdir(), 'fitness-wrk-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
const script = join(directory, 'load.lua');
const list = join(directory, 'paths');
writeFileSync(script, SCRIPT);

/** Throws if a response is missing or unsuccessful. */
export const load = async ({
  origin,
  paths,
  bodies = [],
  headers = {},
  seconds = SECONDS,
  connections = CONNECTIONS,
}: Load): Promise<Run> => {
  if (WRK === undefined) throw new Error('wrk is not installed');
  const lines = paths.map((path, index) =>
    bodies.length === 0 ? path : `${path} ${JSON.stringify(bodies[index])}`,
  );
  writeFileSync(list, `${lines.join('\n')}\n`);
  const options = [
    ...[`-t${THREADS}`, `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script],
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    origin,
  ];
  const env = environmentWith({ BENCH_PATHS: list });
  const { stdout } = await promisify(execFile)(WRK, options, { env });
  const run = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Run & { failed: number };
  if (run.failed > 0) throw new Error(`${run.failed} of ${run.count} answers were no success`);
  if (run.count === 0) throw new Error(`no response within ${seconds} s`);
  return run;
};
