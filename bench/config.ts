/** What a run of the benchmarks is given: by the person who starts it, and by run.mjs. */
const { env } = process;

/** Of one measurement of one side. */
export const SECONDS = Number(env.BENCH_SECONDS ?? 4);
export const ROUNDS = Number(env.BENCH_ROUNDS ?? 3);
/** Only rows whose name contains it. */
export const ONLY = env.BENCH_ONLY ?? '';
/** A file that the tables are appended to. */
export const MARKDOWN_FILE = env.BENCH_MARKDOWN;

/** The database, Redis and RabbitMQ in use. */
export const SERVERS = env.BENCH_SERVERS ?? '';
/** The program; undefined where it is not installed. */
export const WRK = env.BENCH_WRK;
/** Directory with the packages of the peers; undefined without them. */
export const PEER_PACKAGES = env.BENCH_PEERS || undefined;
/** The program; undefined without it. */
export const POCKETBASE = env.BENCH_POCKETBASE || undefined;
/** A sentence for each peer that could not be installed. */
export const SKIPPED_PEERS = JSON.parse(env.BENCH_SKIPPED ?? '[]') as string[];

/** The environment of a child process, which needs `PATH` and the like. */
export const environmentWith = (more: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...env,
  ...more,
});
