/** A process that gets SIGTERM while it is used. */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { CALLER_HEADER } from '../../src/process-identity/caller-context.ts';
import { gatewayContext } from '../../src/testing/harness.ts';
import { type Running, startService, uploadSlowly } from '../../src/testing/processes.ts';
import { pause, until } from '../messaging/support.ts';

const started: Running[] = [];
const agents: Agent[] = [];

afterEach(() => {
  for (const { child } of started.splice(0)) child.kill('SIGKILL');
  for (const agent of agents.splice(0)) agent.destroy();
});

const start = async (variables: object = {}): Promise<Running> => {
  const running = await startService('wallet', variables);
  started.push(running);
  return running;
};

const signed = (): Record<string, string> => ({ [CALLER_HEADER]: gatewayContext('wallet') });

/** A client that keeps its connections. */
const keepingClient = () => {
  const agent = new Agent({ keepAlive: true });
  agents.push(agent);
  return (url: string, path: string, headers: Record<string, string> = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest(`${url}${path}`, { agent, headers }, (response) => {
        response.resume().once('end', () => resolve(response));
      })
        .once('error', reject)
        .end();
    });
};

describe('a process after SIGTERM', () => {
  test('a stopping process is not ready, responds for DRAIN_MS and closes each connection, then refuses', async () => {
    const { child, ready, exited } = await start({ DRAIN_MS: 1_500 });
    const get = keepingClient();
    const before = await get(ready.url, '/api/v1/payments', signed());
    expect([before.statusCode, before.headers.connection]).toEqual([200, 'keep-alive']);
    expect((await get(ready.url, '/health/ready')).statusCode).toBe(200);
    child.kill('SIGTERM');
    const signalledAt = performance.now();
    await until(async () => (await get(ready.url, '/health/ready')).statusCode === 503);
    expect(performance.now() - signalledAt).toBeLessThan(1_000);
    const draining = await get(ready.url, '/api/v1/payments', signed());
    expect([draining.statusCode, draining.headers.connection]).toEqual([200, 'close']);
    let refusedAt = 0;
    while (refusedAt === 0) {
      try {
        await get(ready.url, '/health/live');
        await pause(20);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ECONNREFUSED') refusedAt = performance.now();
        // The system resets a connection that the process has not accepted before its port closed.
        else expect(code).toBe('ECONNRESET');
      }
    }
    expect(refusedAt - signalledAt).toBeGreaterThan(1_400);
    expect(await exited).toBe(0);
  }, 20_000);

  test('an upload that takes longer is finished, and the process exits 0 within its ten seconds', async () => {
    const { child, ready, exited } = await start();
    const headers = { ...signed(), 'content-type': 'application/octet-stream' };
    const uploading = uploadSlowly(`${ready.url}/api/v1/payments`, headers, 1_500);
    await pause(300);
    child.kill('SIGTERM');
    const signalledAt = performance.now();
    expect(await uploading).toBe(200);
    expect(await exited).toBe(0);
    expect(performance.now() - signalledAt).toBeLessThan(10_000);
  }, 30_000);

  test('a request that never ends delays the shutdown no longer than SHUTDOWN_GRACE_MS', async () => {
    const { child, ready, exited } = await start({ SHUTDOWN_GRACE_MS: 2_500 });
    const headers = { ...signed(), 'content-type': 'application/octet-stream' };
    const uploading = uploadSlowly(`${ready.url}/api/v1/payments`, headers, 60_000).catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    await pause(300);
    child.kill('SIGTERM');
    const signalledAt = performance.now();
    expect(await exited).toBe(0);
    expect(performance.now() - signalledAt).toBeLessThan(2_500);
    expect(await uploading).toMatch(/ECONNRESET|EPIPE/);
  }, 20_000);
});
