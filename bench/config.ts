/** Parameters of a benchmark run, set by the user and by run.mjs. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { env } = process;

/** Duration of one measurement of one side. */
export const SECONDS = Number(env.BENCH_SECONDS ?? 4);
export const ROUNDS = Number(env.BENCH_ROUNDS ?? 3);
/** Measures only rows whose name contains this text. */
export const ONLY = env.BENCH_ONLY ?? '';

/** The database, Redis and RabbitMQ in use. */
export const SERVERS = env.BENCH_SERVERS ?? '';
/** Path of wrk; undefined if it is not installed. */
export const WRK = env.BENCH_WRK;
/** Directory with the peers' packages; undefined if there are none. */
export const PEER_PACKAGES = env.BENCH_PEERS;
/** Path of PocketBase; undefined if it is not installed. */
export const POCKETBASE = env.BENCH_POCKETBASE;
/** A message for each peer that could not be installed. */
export const SKIPPED_PEERS = JSON.parse(env.BENCH_SKIPPED ?? '[]') as string[];

/** Loads a package that is installed only for the benchmarks. */
export const requirePeer = <T>(name: string): T =>
  createRequire(join(PEER_PACKAGES ?? '', 'package.json'))(name) as T;

/** Environment of a child process, which needs `PATH` and similar variables. */
export const environmentWith = (more: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...env,
  ...more,
});
