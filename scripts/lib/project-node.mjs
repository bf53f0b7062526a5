import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeBinary, root } from './paths.mjs';

/** @param {string} version */
const majorOf = (version) => Number(version.split('.')[0]);

/** @type {import('node:child_process').ChildProcess | undefined} */
let successor;

/** Whether another process goes on in place of this one, and hears of its signals. */
export const isHandedOver = () => successor !== undefined;

/**
 * Goes on under the project's own Node where an older one runs this script, as it does when there were no packages
 * yet: what the script imports from them may not load under the older one. Call it once the packages are there and
 * before anything is begun; it returns only where there is nothing to hand over.
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
