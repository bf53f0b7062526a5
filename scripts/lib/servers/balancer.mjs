import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure.mjs';
import { pause } from '../time.mjs';
import { findOrInstall } from './apt.mjs';
import { processServer } from './candidate.mjs';

/** The header of haproxy.cfg that selects or names a gateway. */
const GATEWAY = 'x-gateway';

/**
 * HAProxy in front of several gateways.
 * @param {Pick<import('./candidate.mjs').Context, 'supervisor' | 'directory' | 'logDirectory' | 'log'>} context
 * @param {{ port: number, gateways: Map<string, number> }} where
 * @returns {Promise<{ untilReady: (gateway: string) => Promise<void> }>} untilReady: resolves when the balancer sends requests to this gateway
 */
export async function startBalancer(context, { port, gateways }) {
  const command = await findOrInstall(context, 'haproxy');
  if (!command)
    throw new Failure(
      'Several gateways need HAProxy in front, which is not on the PATH: install it (on Debian, as root: apt-get install haproxy).',
    );
  const directory = join(context.directory, 'balancer');
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'haproxy.cfg');
  const common = readFileSync(new URL('./haproxy.cfg', import.meta.url), 'utf8');
  // A line that names a gateway is there for each of them.
  const lines = common.split('\n').flatMap((line) => {
    if (!line.includes('<name>')) return [line];
    return [...gateways].map(([name, to]) => line.replaceAll('<name>', name).replace('<port>', String(to)));
  });
  writeFileSync(file, lines.join('\n'));
  const url = `http://127.0.0.1:${port}`;
  const ask = async (headers = {}) => {
    try {
      return await fetch(`${url}/health/ready`, { headers, signal: AbortSignal.timeout(2_000) });
    } catch {
      return undefined;
    }
  };
  const env = { ...process.env, PORT: String(port) };
  const launch = { name: 'balancer', command, args: ['-db', '-f', file], cwd: directory, env };
  // HAProxy itself returns 503 while it has no gateway.
  await processServer(context, url, launch, async () => (await ask()) !== undefined).start();
  return {
    async untilReady(gateway) {
      const deadline = Date.now() + 10_000;
      // Each request selects its gateway. With plain round robin, two waiting callers might each meet only the other's gateway.
      while ((await ask({ [GATEWAY]: gateway }))?.headers.get(GATEWAY) !== gateway) {
        if (Date.now() > deadline) throw new Error(`the balancer does not find that ${gateway} is ready`);
        await pause(50);
      }
    },
  };
}
