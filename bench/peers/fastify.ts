/** A Fastify that only sends one response, and `@fastify/http-proxy` in front of it with JWT check and rate limit. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnPeer } from './spawn.ts';

export interface FastifyPeers {
  /** Serves the response at any path, and serializes it from an object at `/serialized`. */
  page: { origin: string; pid: number | undefined };
  proxy: { origin: string; pid: number | undefined; token: string };
}

const MAIN = fileURLToPath(new URL('./fastify/main.ts', import.meta.url));

const start = async (...args: string[]) => {
  const flag = '--disable-warning=ExperimentalWarning';
  const { pid, output } = await spawnPeer(process.execPath, [flag, MAIN, ...args]);
  return { pid, ...(JSON.parse(output) as { origin: string; token: string }) };
};

/** `answer` is JSON. */
export const startFastifyPeers = async (answer: string): Promise<FastifyPeers> => {
  const directory = mkdtempSync(join(tmpdir(), 'fitness-page-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'answer.json');
  writeFileSync(file, answer);
  const page = await start('page', file);
  return { page, proxy: await start('proxy', page.origin) };
};
