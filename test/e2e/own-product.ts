/** A separate product for one test, with replicas, on the servers of all tests. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataDirectory } from '../../scripts/lib/paths.mjs';
import { startServers } from '../../scripts/lib/servers/index.mjs';
import { startStack } from '../../scripts/lib/stack.mjs';
import { connectStack } from '../../scripts/lib/stack-client.mjs';
import { createSupervisor } from '../../scripts/lib/supervisor.mjs';

type Stack = Awaited<ReturnType<typeof startStack>>;

export interface OwnProduct {
  stack: Stack;
  client: ReturnType<typeof connectStack>;
  /** A token of the first administrator. */
  administrator: string;
  close(): Promise<void>;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const makeDirectory = (): string => {
  const memory = '/dev/shm';
  return mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'own-product-'));
};

/** `release`: the directory of the release that all processes start from at first. */
export const startOwnProduct = async (
  replicas: number,
  { release }: { release?: string } = {},
): Promise<OwnProduct> => {
  const directory = makeDirectory();
  const logDirectory = join(dataDirectory, 'test-logs/own-product');
  const supervisor = createSupervisor();
  process.once('exit', () => supervisor.killAll());
  // A signal would end jest without the event `exit`.
  const onSignal = (): void => process.exit(1);
  for (const signal of SIGNALS) process.once(signal, onSignal);
  const close = async (): Promise<void> => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    await supervisor.stopAll();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const ports = { mongodb: 0, redis: 0, rabbitmq: 0, rabbitmqDistribution: 0, epmd: 0 };
    // The servers' addresses are given, so nothing is started.
    const servers = await startServers({
      supervisor,
      directory,
      ephemeral: true,
      logDirectory,
      ports,
      log: console.error,
    });
    const stack = await startStack({ supervisor, servers, directory, logDirectory, replicas, release });
    const signedIn = await fetch(`${stack.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login: 'administrator', password: 'demo-password-1' }),
    });
    const { token } = (await signedIn.json()) as { token: string };
    const closeAll = async (): Promise<void> => {
      await stack.close();
      await close();
    };
    return { stack, client: connectStack(stack.file), administrator: token, close: closeAll };
  } catch (error) {
    await close();
    throw error;
  }
};
