import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory, findExecutable } from '../../scripts/lib/paths.mjs';
import { findOrInstall } from '../../scripts/lib/servers/apt.mjs';
import { runTool } from '../../scripts/lib/supervisor.mjs';

/** Packages that the benchmarks compare the product with. The product itself uses none of them. */
const packages = JSON.parse(readFileSync(new URL('./packages.json', import.meta.url), 'utf8'));
const pocketBase = 'github.com/pocketbase/pocketbase/examples/base@v0.36.8';

/**
 * Installs the load generator and, if requested, the peers; each only once. Variables of missing programs are
 * absent, and `BENCH_SKIPPED` has a message for each.
 * @param {{ supervisor: import('../../scripts/lib/supervisor.mjs').Supervisor, logDirectory: string, log: (line: string) => void }} context
 * @param {{ withPeers: boolean }} options
 * @returns {Promise<NodeJS.ProcessEnv>}
 */
export async function preparePeers({ supervisor, logDirectory, log }, { withPeers }) {
  /** @type {string[]} */
  const skipped = [];
  const logFile = join(logDirectory, 'bench-peers.log');

  /**
   * Installs into a directory whose name has the version, with a program of this machine. Returns the directory.
   * @param {string} name
   * @param {string} program
   * @param {(home: string) => { args: string[], env?: NodeJS.ProcessEnv }} install
   */
  async function ensure(name, program, install) {
    const home = join(dataDirectory, 'bench-peers', name.replaceAll(/[^\w.@-]/g, '-'));
    const complete = join(home, '.complete');
    if (existsSync(complete)) return home;
    mkdirSync(home, { recursive: true });
    const { args, env = process.env } = install(home);
    log(`peers: ${program} installs ${name} (once; it may take minutes)`);
    const command = findExecutable(program);
    if (!command || !(await runTool(supervisor, { name: program, command, args, cwd: home, env, logFile }))) {
      skipped.push(`${program} is missing, or could not install ${name}; see ${logFile}.`);
      return undefined;
    }
    writeFileSync(complete, '');
    return home;
  }

  const npm = (/** @type {string} */ home) => {
    writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
    return { args: ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'] };
  };
  const go = (/** @type {string} */ home) => ({
    args: ['install', pocketBase],
    env: { ...process.env, GOBIN: home },
  });
  const wrk = await findOrInstall({ supervisor, logDirectory, log }, 'wrk');
  if (!wrk) skipped.push('Without wrk, which apt-get cannot install here, no request is measured.');
  const versions = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  const peers = withPeers ? await ensure(versions.join('_'), 'npm', npm) : undefined;
  const compiled = withPeers ? await ensure(pocketBase, 'go', go) : undefined;
  return {
    ...(wrk && { BENCH_WRK: wrk }),
    ...(peers && { BENCH_PEERS: peers }),
    ...(compiled && { BENCH_POCKETBASE: join(compiled, 'base') }),
    BENCH_SKIPPED: JSON.stringify(skipped),
  };
}
