/** Additional processes of the running product, besides those that `npm run bench` has started. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '../scripts/lib/node-flags.mjs';
import { freePorts } from '../scripts/lib/ports.mjs';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { pause } from './figures.ts';

const READY_MS = 60_000;
const MAINS = { gateway: '../gateway/src/main.ts', content: '../services/content/src/main.ts' };

const product = connectStack();
const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

export interface Replica {
  name: keyof typeof MAINS;
  pid: number;
  origin: string;
  stop: () => void;
}

/** `variables` override those of the product's own process. */
export const startReplica = async (
  name: Replica['name'],
  variables: Readonly<Record<string, string>> = {},
): Promise<Replica> => {
  const [http, grpc, operations] = await freePorts(3);
  const main = fileURLToPath(new URL(MAINS[name], import.meta.url));
  const child = spawn(process.execPath, [...nodeFlags, main], {
    env: {
      ...product.part(name).environment,
      HTTP_PORT: String(http),
      GRPC_PORT: String(grpc),
      ...(name === 'gateway' ? { OPERATIONS_PORT: String(operations) } : {}),
      SEED_DEMO: '0',
      ...variables,
    },
    stdio: 'ignore',
  });
  children.add(child);
  const origin = `http://127.0.0.1:${http}`;
  const deadline = performance.now() + READY_MS;
  const isReady = () =>
    fetch(`${origin}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (performance.now() > deadline) throw new Error(`a replica of ${name} is not ready`);
    await pause(100);
  }
  return { name, pid: child.pid ?? 0, origin, stop: () => void child.kill() };
};
