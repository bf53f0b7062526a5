import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { explain } from './explain.mjs';
import { ensurePackages } from './packages.mjs';
import { logDirectory, nodeBinary, root } from './paths.mjs';
import { onEndSignal } from './signals.mjs';

/** Whether the project's own Node runs this process, and a program of its packages: npx may have fetched another one. */
export const isInProject = () =>
  existsSync(nodeBinary) &&
  realpathSync(nodeBinary) === process.execPath &&
  process.argv[1]?.startsWith(join(root, 'node_modules'));

/**
 * Installs the packages if necessary, then continues in a child process with the project's own Node. Messages go to stderr,
 * because stdout belongs to the command. Without arguments it only installs.
 * @param {string[]} args arguments for Node; instead of a script, the name of an installed package's program
 * @param {{ development: boolean }} packages whether the packages for development are needed
 * @returns {Promise<never>}
 */
export async function runInProject(args, { development }) {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let successor;
  onEndSignal((signal) => {
    if (successor) successor.kill(signal);
    else process.exit(130);
  });
  const logFile = join(logDirectory, 'npm-ci.log');
  try {
    await ensurePackages({ logFile, log: (line) => console.error(line), development });
  } catch (error) {
    console.error(explain('npm ci', error));
    process.exit(1);
  }
  if (args.length === 0) process.exit(0);
  const child = spawn(nodeBinary, args.map(pathOfProgram), { stdio: 'inherit' });
  successor = child;
  const exitCode = await new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
  });
  process.exit(exitCode);
}

/** @param {string} argument @param {number} index @param {string[]} args */
function pathOfProgram(argument, index, args) {
  if (index !== args.findIndex((each) => !each.startsWith('-'))) return argument;
  const program = join(root, 'node_modules', '.bin', argument);
  return existsSync(program) ? program : argument;
}
