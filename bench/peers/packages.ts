/** The packages that are installed for the benchmarks alone. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const requirePeer = <T>(name: string): T =>
  createRequire(join(process.env.BENCH_PEERS ?? '', 'package.json'))(name) as T;
