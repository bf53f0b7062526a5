/** Loads packages that are installed only for the benchmarks. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PEER_PACKAGES } from '../config.ts';

export const requirePeer = <T>(name: string): T =>
  createRequire(join(PEER_PACKAGES ?? '', 'package.json'))(name) as T;
