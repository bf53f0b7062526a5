/** The keys of all processes are replaced at once while clients use the product. The regular test has two processes. */
import { dirname } from 'node:path';
import { PROCESSES } from '@fitness/shared/kernel/process-name.ts';
import { sleep } from '@fitness/shared/kernel/timing.ts';
import { beginRotation, finishRotation, switchKey } from '@fitness/shared/process-identity/key-files.ts';
import { expect, test } from '@jest/globals';
import { api, baseUrl, register, type SendOptions, stack } from './support.ts';

/** Longer than the lifetime of contexts and of cached public keys. */
const BETWEEN_STEPS_MS = 13_000;
const WORKERS = 6;

/** Number of calls that were refused, by process. */
const refusals = async (): Promise<Record<string, number>> => {
  const counted = await Promise.all(
    PROCESSES.map(async (process) => {
      const { url, operationsUrl = url } = stack().part(process);
      const text = await (await fetch(`${operationsUrl}/metrics`)).text();
      const lines = text
        .split('\n')
        .filter(
          (line) => line.startsWith('grpc_client_duration_seconds_count') && line.includes('UNAUTHENTICATED'),
        );
      return [process, lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)] as const;
    }),
  );
  return Object.fromEntries(counted);
};

test('no request fails and no process refuses another during a rotation of all keys', async () => {
  const { token } = await register();
  const requests: [path: string, options: SendOptions][] = [
    ['/auth/me', { token }],
    ['/payments/balance', { token }],
    ['/gyms', {}],
    ['/training-services', { token }],
    ['/posts', {}],
  ];
  const failures: string[] = [];
  let sent = 0;
  let stopped = false;
  const work = async (): Promise<void> => {
    while (!stopped) {
      const [path, options] = requests[sent % requests.length] ?? ['/gyms', {}];
      sent += 1;
      const { status } = await api('GET', path, options);
      if (status !== 200) failures.push(`${path}: ${status}`);
    }
  };
  const before = await refusals();
  const workers = Promise.all(Array.from({ length: WORKERS }, work));
  const directory = dirname(stack().part('gateway').environment.PUBLIC_KEYS_DIRECTORY ?? '');
  for (const step of [beginRotation, switchKey, finishRotation]) {
    for (const process of PROCESSES) step(directory, process);
    await sleep(BETWEEN_STEPS_MS);
  }
  stopped = true;
  await workers;
  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThan(100);
  expect(await refusals()).toEqual(before);
  expect((await fetch(`${baseUrl()}/health/ready`)).status).toBe(200);
});
