import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { explain } from './explain.mjs';
import { ensurePackages } from './packages.mjs';
import { dataDirectory, nodeBinary, root } from './paths.mjs';
import { onEndSignal } from './signals.mjs';

/** @param {string} version */
const majorOf = (version) => Number(version.split('.')[0]);

/** Whether the project's own Node runs this process, and a program of its packages: npx may have fetched another one. */
export const isInProject = () =>
  existsSync(nodeBinary) &&
  realpathSync(nodeBinary) === process.execPath &&
  process.argv[1]?.startsWith(join(root, 'node_modules'));

/** @type {import('node:child_process').ChildProcess | undefined} */
let successor;

/** Whether another process replaces this one and receives its signals. */
export const isHandedOver = () => successor !== undefined;

/**
 * Continues in a child process with the project's own Node.
 * @param {string[]} args
 * @returns {Promise<never>}
 */
async function continueInProjectNode(args) {
  const child = spawn(nodeBinary, args, { stdio: 'inherit' });
  successor = child;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  const exitCode = await new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
  });
  process.exit(exitCode);
}

/**
 * Restarts this script under the project's own Node if the current one is older: imported packages may not
 * load under an older one. Call it after the packages are installed and before anything is started. It returns only if
 * no restart is needed.
 * @returns {Promise<void>}
 */
export async function handOverToProjectNode() {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', 'node', 'package.json'), 'utf8'));
  if (majorOf(process.versions.node) < majorOf(version)) await continueInProjectNode(process.argv.slice(1));
}

/**
 * Installs the packages if necessary, then continues in a child process with the project's own Node. Messages go to stderr,
 * because stdout belongs to the command. Without arguments it only installs.
 * @param {string[]} args arguments for Node; instead of a script, the name of an installed package's program
 * @param {{ development: boolean }} packages whether the packages for development are needed
 * @returns {Promise<never>}
 */
export async function runInProject(args, { development }) {
  onEndSignal(() => {
    if (!isHandedOver()) process.exit(130);
  });
  const logFile = join(dataDirectory, 'logs', 'npm-ci.log');
  try {
    await ensurePackages({ logFile, log: (line) => console.error(line), development });
  } catch (error) {
    console.error(explain('npm ci', error));
    process.exit(1);
  }
  return args.length === 0 ? process.exit(0) : continueInProjectNode(args.map(pathOfProgram));
}

/** @param {string} argument @param {number} index @param {string[]} args */
function pathOfProgram(argument, index, args) {
  if (index !== args.findIndex((each) => !each.startsWith('-'))) return argument;
  const program = join(root, 'node_modules', '.bin', argument);
  return existsSync(program) ? program : argument;
}
