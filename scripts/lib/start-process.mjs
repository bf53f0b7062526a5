import { join, relative } from 'node:path';
import { ownEnvironment } from './environment.mjs';
import { PartEnded, Stopped } from './failure.mjs';
import { nodeFlags } from './node-flags.mjs';
import { dataDirectory, nodeBinary, root } from './paths.mjs';
import { lastLines, watchProgress } from './supervisor.mjs';
import { pause, stopwatch } from './time.mjs';

/**
 * @typedef {object} ProcessContext
 * @property {import('./supervisor.mjs').Supervisor} supervisor
 * @property {string} logDirectory
 * @property {import('./process-definitions.mjs').ProcessPorts} ports
 * @property {NodeJS.ProcessEnv} environment the variables of all processes
 *
 * @typedef {object} RunningProcess
 * @property {import('./process-definitions.mjs').Process} part
 * @property {import('./supervisor.mjs').Child} child
 * @property {string} url
 * @property {NodeJS.ProcessEnv} environment
 * @property {Promise<string>} ready the time it took; rejects if the process ends first
 */

/** The cache of compiled code between starts. All processes share one directory, because they share most code. */
export const compileCache = () => process.env.NODE_COMPILE_CACHE ?? join(dataDirectory, 'compile-cache');

/**
 * @param {import('./process-definitions.mjs').Process} part
 * @param {ProcessContext} context
 * @param {{ append?: boolean, environment?: NodeJS.ProcessEnv, inspectorPort?: number, directory?: string }} [options]
 *   environment: takes priority over all other variables; inspectorPort: enables the inspector and restarts on changes; directory: that
 *   of another release
 * @returns {RunningProcess}
 */
export function startProcess(part, context, options = {}) {
  const { append = false, inspectorPort, directory = root } = options;
  const whileDeveloping =
    inspectorPort === undefined
      ? []
      : ['--watch', '--watch-preserve-output', `--inspect=127.0.0.1:${inspectorPort}`];
  const elapsed = stopwatch();
  const environment = {
    NODE_COMPILE_CACHE: compileCache(),
    ...context.environment,
    ...ownEnvironment(part, context.ports, context.environment),
    ...options.environment,
  };
  const child = context.supervisor.start({
    name: part.name,
    tier: part.tier,
    command: nodeBinary,
    args: [...nodeFlags, ...whileDeveloping, join(directory, relative(root, part.main))],
    cwd: directory,
    env: environment,
    logFile: join(context.logDirectory, `${part.name}.log`),
    append,
    restart: () => startProcess(part, context, { ...options, append: true }).ready,
  });
  const url = `http://127.0.0.1:${context.ports.get(part.name)?.http}`;
  const ready = untilReady(child, url + part.readyPath).then(elapsed);
  // An unhandled rejection must not end this process.
  ready.catch(() => {});
  return { part, child, url, environment, ready };
}

/**
 * Before a process listens, it makes progress by using the processor. Afterwards only its state counts, because responding uses the
 * processor too.
 * @param {import('./supervisor.mjs').Child} child
 * @param {string} url
 */
async function untilReady(child, url) {
  const standsStill = watchProgress(child, { stillMs: 120_000, atMostMs: 15 * 60_000 });
  let answer = '';
  while (!standsStill(answer ? answer.replaceAll(/"latency_ms":\d+/g, '') : undefined)) {
    if (child.endExpected) throw new Stopped();
    if (child.ended !== undefined) throw new PartEnded(`${child.name} ended with ${child.ended}`);
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
      answer = `${response.status} ${(await response.text()).slice(0, 2_000)}`;
      if (response.ok) return;
    } catch {
      // The process is not listening yet.
    }
    await pause(100);
  }
  throw new Error(
    `${child.name} is not ready and makes no progress. ${url} answered: ${answer || 'nothing'}\n${lastLines(child.logFile, 20)}`,
  );
}
