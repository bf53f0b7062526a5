/** A process of `lifecycle.test.ts`: `node fixture.ts <scenario>`. It reports its steps on standard output. */
import { z } from 'zod';
import { parseConfig } from '../../src/kernel/config.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createCleanup, runProcess } from '../../src/runtime/lifecycle.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const log = createLog({ service: 'fixture' });
const forever = (): Promise<never> => new Promise(() => setInterval(() => undefined, 1_000));
const pause = (durationMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, durationMs));

const HANGS_MS = 300;

const withParts = async (...more: [string, () => unknown][]) => {
  const cleanup = createCleanup(log);
  const alive = setInterval(() => undefined, 1_000);
  cleanup.defer('timer', () => clearInterval(alive));
  for (const part of ['database', 'broker', 'transport']) {
    cleanup.defer(part, async () => {
      await pause(20);
      say(`closed ${part}`);
    });
  }
  for (const [name, close] of more) cleanup.defer(name, close);
  say('ready');
  return { log, close: () => cleanup.close() };
};

const scenarios: Record<string, () => Promise<{ log: typeof log; close(): Promise<void> }>> = {
  'wrong configuration': async () => {
    parseConfig(z.object({ HTTP_PORT: z.coerce.number(), SECRET: z.string().min(32) }), {
      HTTP_PORT: 'eighty',
      SECRET: 'swordfish',
    });
    return withParts();
  },
  'no server': async () => {
    parseConfig(z.object({ PASSWORD: z.string() }), { PASSWORD: 'swordfish' });
    throw new Error('connect ECONNREFUSED with swordfish');
  },
  normal: () => withParts(),
  'a part that fails to close': () =>
    withParts([
      'broken',
      () => {
        throw new Error('it is stuck');
      },
    ]),
  'closing that fails': async () => ({
    ...(await withParts()),
    close: () => Promise.reject(new Error('it is stuck')),
  }),
  'closing that hangs': () => withParts(['slow', forever]),
  'a start that hangs': async () => {
    say('ready');
    return forever();
  },
  'a slow start': async () => {
    const alive = setInterval(() => undefined, 1_000);
    const signalled = new Promise((resolve) => process.once('SIGTERM', resolve));
    say('ready');
    await signalled;
    clearInterval(alive);
    return withParts();
  },
  'a rejection that nobody handles': async () => {
    setTimeout(() => void Promise.reject(new Error('forgotten')), 10);
    setTimeout(() => say('going on'), 50);
    return withParts();
  },
  'an exception that nobody catches': async () => {
    setTimeout(() => {
      throw new Error('uncaught');
    }, 10);
    return withParts();
  },
};

const scenario = scenarios[process.argv[2] ?? ''];
if (scenario === undefined) throw new Error(`no scenario ${process.argv[2]}`);
await runProcess(scenario, process.argv[2]?.endsWith('that hangs') ? HANGS_MS : undefined);
