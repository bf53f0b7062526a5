import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory, findExecutable } from '../../scripts/lib/paths.mjs';
import { findOrInstall } from '../../scripts/lib/servers/apt.mjs';
import { runTool } from '../../scripts/lib/supervisor.mjs';

/** Packages that the benchmarks compare the product with. The product itself uses none of them. */
const packages = {
  fastify: '5.12.8',
  '@fastify/http-proxy': '11.6.3',
  '@fastify/jwt': '10.2.8',
  '@fastify/rate-limit': '11.2.0',
  medici: '7.4.0',
  mongoose: '9.12.1',
};
const pocketBase = 'github.com/pocketbase/pocketbase/examples/base@v0.36.8';

const directory = join(dataDirectory, 'bench-peers');

/**
 * Installs the load generator and, if requested, the peers; each only once. Variables of missing programs are
 * absent, and `BENCH_SKIPPED` has a message for each.
 * @param {import('../../scripts/lib/supervisor.mjs').Supervisor} supervisor
 * @param {{ withPeers: boolean, logDirectory: string, log: (line: string) => void }} options
 * @returns {Promise<NodeJS.ProcessEnv>}
 */
export async function preparePeers(supervisor, { withPeers, logDirectory, log }) {
  /** @type {string[]} */
  const skipped = [];
  const context = { supervisor, logDirectory, log, skipped };
  const variables = {
    BENCH_WRK: await ensureWrk(context),
    BENCH_PEERS: withPeers ? await ensurePackages(context) : undefined,
    BENCH_POCKETBASE: withPeers ? await ensurePocketBase(context) : undefined,
  };
  const present = Object.entries(variables).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(present), BENCH_SKIPPED: JSON.stringify(skipped) };
}

/**
 * @typedef {object} Context
 * @property {import('../../scripts/lib/supervisor.mjs').Supervisor} supervisor
 * @property {string} logDirectory
 * @property {(line: string) => void} log
 * @property {string[]} skipped
 */

/** @param {Context} context */
async function ensureWrk(context) {
  const wrk = await findOrInstall(context, 'wrk');
  if (!wrk) context.skipped.push('Without wrk, which apt-get cannot install here, no request is measured.');
  return wrk;
}

/** @param {Context} context */
async function ensurePackages({ supervisor, logDirectory, log, skipped }) {
  const versions = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  const home = join(directory, 'npm');
  const complete = join(home, `complete-${versions.join('_').replaceAll(/[^\w.@-]/g, '-')}`);
  if (existsSync(complete)) return home;
  const npm = findExecutable('npm');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
  log(`peers: installing ${versions.join(', ')} (once)`);
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
  const logFile = join(logDirectory, 'npm-peers.log');
  if (npm && (await runTool(supervisor, { name: 'npm', command: npm, args, cwd: home, logFile }))) {
    writeFileSync(complete, '');
    return home;
  }
  skipped.push(`npm could not install ${versions.join(', ')}; see ${logFile}.`);
  return undefined;
}

/** @param {Context} context */
async function ensurePocketBase({ supervisor, logDirectory, log, skipped }) {
  const version = pocketBase.slice(pocketBase.lastIndexOf('@') + 1);
  const home = join(directory, `pocketbase-${version}`);
  const program = join(home, 'base');
  if (existsSync(program)) return program;
  const go = findExecutable('go');
  if (!go) {
    skipped.push('PocketBase is compiled by Go, which is not installed.');
    return undefined;
  }
  mkdirSync(home, { recursive: true });
  log(`peers: compiling PocketBase ${version} (once; it takes minutes)`);
  const logFile = join(logDirectory, 'pocketbase.log');
  const env = { ...process.env, GOBIN: home };
  if (await runTool(supervisor, { name: 'go', command: go, args: ['install', pocketBase], env, logFile }))
    return program;
  skipped.push(`Go could not compile ${pocketBase}; see ${logFile}.`);
  return undefined;
}
