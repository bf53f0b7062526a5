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
/** Path of wrk, directory with the peers' packages, and path of PocketBase. Each is undefined if it is not installed. */
export const { BENCH_WRK: WRK, BENCH_PEERS: PEER_PACKAGES, BENCH_POCKETBASE: POCKETBASE } = env;
/** A message for each program that could not be installed and each work that failed. */
export const skipped = JSON.parse(env.BENCH_SKIPPED ?? '[]') as string[];

/** Loads a package that is installed only for the benchmarks. */
export const requirePeer = <T>(name: string): T =>
  createRequire(join(PEER_PACKAGES ?? '', 'package.json'))(name) as T;
