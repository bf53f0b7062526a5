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
  stop(): void;
}

const MAIN = fileURLToPath(new URL('./fastify/main.ts', import.meta.url));

/** `answer` is JSON. */
export const startFastifyPeers = async (answer: string): Promise<FastifyPeers> => {
  const directory = mkdtempSync(join(tmpdir(), 'fitness-page-'));
  const file = join(directory, 'answer.json');
  writeFileSync(file, answer);
  const start = async (...args: string[]) => {
    const { child, output } = await spawnPeer(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      MAIN,
      ...args,
    ]);
    return { child, pid: child.pid, ...(JSON.parse(output) as { origin: string; token: string }) };
  };
  const page = await start('page', file);
  const proxy = await start('proxy', page.origin);
  return {
    page,
    proxy,
    stop: () => {
      page.child.kill();
      proxy.child.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
