import { join } from 'node:path';
import { nodeFlags } from './node-flags.mjs';
import { nodeBinary, root } from './paths.mjs';
import { compileCache } from './start-process.mjs';
import { runTool } from './supervisor.mjs';

/**
 * Compiles all sources into the cache that the processes share. Otherwise each process would compile on its first
 * start, and keep the 20 MiB that the type stripper needs. Failures are ignored: they only slow the start down.
 * @param {import('./supervisor.mjs').Supervisor} supervisor
 * @param {string} logDirectory
 */
export async function warmUp(supervisor, logDirectory) {
  await runTool(supervisor, {
    name: 'warm-up',
    command: nodeBinary,
    args: [...nodeFlags, join(root, 'scripts/lib/warm-up-main.mjs')],
    cwd: root,
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache() },
    logFile: join(logDirectory, 'warm-up.log'),
    timeoutMs: 60_000,
  });
}
