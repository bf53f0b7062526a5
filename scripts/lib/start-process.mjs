import { join, relative } from 'node:path';
import { ownEnvironment } from './environment.mjs';
import { messageOf, PartEnded, Stopped } from './failure.mjs';
import { nodeFlags } from './node-flags.mjs';
import { dataDirectory, nodeBinary, root } from './paths.mjs';
import { lastLines, watchProgress } from './supervisor.mjs';
import { pause, stopwatch } from './time.mjs';
import { sourceDirectories, watchSources } from './watch.mjs';

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
 * @typedef {{ inspectorPort: number, log: (line: string) => void }} Development
 *
 * @param {import('./process-definitions.mjs').Process} part
 * @param {ProcessContext} context
 * @param {{ append?: boolean, environment?: NodeJS.ProcessEnv, development?: Development | undefined, directory?: string | undefined }} [options]
 *   environment: takes priority over all other variables; development: enables the inspector and restarts on changes; directory: that
 *   of another release
 * @returns {RunningProcess}
 */
export function startProcess(part, context, options = {}) {
  const { append = false, development, directory = root } = options;
  const main = join(directory, relative(root, part.main));
  const elapsed = stopwatch();
  const environment = {
    NODE_COMPILE_CACHE: compileCache(),
    ...context.environment,
    ...ownEnvironment(part, context.ports, context.environment),
    ...options.environment,
  };
  const restart = () => startProcess(part, context, { ...options, append: true }).ready;
  const child = context.supervisor.start({
    name: part.name,
    tier: part.tier,
    command: nodeBinary,
    args: [...nodeFlags, ...(development ? [`--inspect=127.0.0.1:${development.inspectorPort}`] : []), main],
    cwd: directory,
    env: environment,
    logFile: join(context.logDirectory, `${part.name}.log`),
    append,
    restart,
    restartsOnChange: development !== undefined,
  });
  const url = `http://127.0.0.1:${context.ports.get(part.name)?.http}`;
  const itself = untilReady(child, url + part.readyPath).then(elapsed);
  const ready = development
    ? restartOnChange(child, itself, { main, isRestart: append, restart, log: development.log })
    : itself;
  // An unhandled rejection must not end this process.
  ready.catch(() => {});
  return { part, child, url, environment, ready };
}

/**
 * Restarts the process after a change of its sources, even if it has ended by itself.
 * @param {import('./supervisor.mjs').Child} child
 * @param {Promise<string>} itself resolves when this process is ready
 * @param {{ main: string, isRestart: boolean, restart: () => Promise<string>, log: (line: string) => void }} options
 * @returns {Promise<string>} resolves when this process or its successor is ready
 */
function restartOnChange(child, itself, { main, isRestart, restart, log }) {
  return new Promise((resolve, reject) => {
    const endWatch = watchSources(sourceDirectories(main), (path) => {
      // It is being stopped from elsewhere, such as for a backup.
      if (child.endExpected) return;
      log(`${child.name} restarts: ${relative(root, path)} has changed`);
      const restarting = child.stop(4_000).then(() => resolve(restart()));
      restarting.catch((error) => {
        if (!(error instanceof Stopped)) log(`${child.name} cannot restart: ${messageOf(error)}`);
      });
    });
    // After a stop from elsewhere, such as for a backup, a change must not start the process.
    void child.exited.then(() => child.endExpected && endWatch());
    const onReady = (/** @type {string} */ took) => {
      if (isRestart) log(`${child.name} is up again after ${took}`);
      resolve(took);
    };
    itself.then(onReady, (error) => {
      if (!(error instanceof PartEnded || error instanceof Stopped)) reject(error);
    });
  });
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
