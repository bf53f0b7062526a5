import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeBinary, root } from './paths.mjs';

/** @param {string} version */
const majorOf = (version) => Number(version.split('.')[0]);

/** @type {import('node:child_process').ChildProcess | undefined} */
let successor;

/** Whether another process replaces this one and receives its signals. */
export const isHandedOver = () => successor !== undefined;

/**
 * Restarts this script under the project's own Node if an older one runs it: packages that the script imports may not
 * load under the older one. Call it when the packages are installed and before anything is started. It returns only if
 * no restart is needed.
 * @returns {Promise<void>}
 */
export async function handOverToProjectNode() {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', 'node', 'package.json'), 'utf8'));
  if (majorOf(process.versions.node) >= majorOf(version)) return;
  const child = spawn(nodeBinary, process.argv.slice(1), { stdio: 'inherit' });
  successor = child;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  const exitCode = await new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
  process.exit(exitCode);
}
