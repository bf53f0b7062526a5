import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS, HOUR_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { createCleanup } from '@fitness/shared/runtime/lifecycle.ts';
import { CLOCK_TIMES, openClock } from '@fitness/shared/runtime/sandbox-clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type Sandbox, type SandboxOptions, startSandbox } from '../src/service.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const start = async (options: SandboxOptions = {}): Promise<Sandbox> => {
  const sandbox = await startSandbox({ seedDemo: true, ...options });
  closers.push(() => sandbox.close());
  return sandbox;
};

const temporaryFile = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'clock-'));
  closers.push(() => rmSync(directory, { recursive: true }));
  return join(directory, 'kept', 'clock');
};

const send = async (sandbox: Sandbox, method: string, path = '/clock', body?: unknown) => {
  const response = await fetch(`${sandbox.url}/_sandbox${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

const advance = (sandbox: Sandbox, duration: unknown) =>
  send(sandbox, 'PUT', '/clock', { advance: duration });

describe('PUT /_sandbox/clock', () => {
  test('the clock is advanced by seconds, minutes, hours or days', async () => {
    const sandbox = await start({ clock: new ManualClock('2026-01-15T10:00:00Z') });
    await advance(sandbox, '30s');
    await advance(sandbox, '5m');
    await advance(sandbox, '2h');
    expect(await advance(sandbox, '14d')).toEqual({
      status: 200,
      body: {
        data: { now: '2026-01-29 12:05:30', advanced_ms: 14 * DAY_MS + 2 * HOUR_MS + 330 * SECOND_MS },
      },
    });
    expect((await send(sandbox, 'GET')).body).toMatchObject({ data: { now: '2026-01-29 12:05:30' } });
  });

  test.each(['-1d', '0d', '1', 'd', '1.5h', '1w', '1d ', '99999999999s', 14, null, undefined])(
    'an advance by %j is refused under the field and does not change the clock',
    async (duration) => {
      const sandbox = await start();
      expect(await advance(sandbox, duration)).toMatchObject({
        status: 422,
        body: { errors: { advance: [expect.any(String)] } },
      });
      expect((await send(sandbox, 'GET')).body).toMatchObject({ data: { advanced_ms: 0 } });
    },
  );

  test('the clock is advanced by at most ten years in total', async () => {
    const sandbox = await start();
    expect((await advance(sandbox, '3650d')).status).toBe(200);
    expect(await advance(sandbox, '1s')).toMatchObject({
      status: 422,
      body: { errors: { advance: [expect.stringMatching(/ten years/)] } },
    });
    expect((await send(sandbox, 'GET')).body).toMatchObject({ data: { advanced_ms: 3_650 * DAY_MS } });
  });

  test('the clock routes return 404 for a product without demo data, which does not follow', async () => {
    const sandbox = await start({ seedDemo: false });
    expect((await advance(sandbox, '1d')).status).toBe(404);
    expect((await send(sandbox, 'GET')).status).toBe(404);
  });

  test('an advance moves the times that the emulated providers return', async () => {
    const sandbox = await start({ clock: new ManualClock('2026-01-15T10:00:00Z') });
    await advance(sandbox, '1d');
    await fetch(`${sandbox.url}/kavenegar/v1/some-key/sms/send.json`, {
      method: 'POST',
      body: new URLSearchParams({ receptor: '09121234567', message: 'see you at 10' }),
    });
    const { body } = await send(sandbox, 'GET', '/sms');
    expect(body.data).toMatchObject([{ sent_at: '2026-01-16 10:00:00' }]);
  });

  test('an advance expires no access token of Google, which may be in use', async () => {
    const sandbox = await start();
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const scope = 'https://www.googleapis.com/auth/androidpublisher';
    const iat = Math.floor(Date.now() / 1_000);
    const claims = { iss: 'app@example', aud: sandbox.url, scope, iat, exp: iat + 3_600 };
    const assertion = `${part({ alg: 'RS256' })}.${part(claims)}.signature`;
    const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const google = `${sandbox.url}/google-play`;
    const body = new URLSearchParams({ grant_type, assertion });
    const token = await fetch(`${google}/token`, { method: 'POST', body });
    const { access_token } = (await token.json()) as { access_token: string };
    await advance(sandbox, '1d');
    const headers = { authorization: `Bearer ${access_token}` };
    const purchase = '/androidpublisher/v3/applications/app/purchases/products/premium_plus/tokens/unknown';
    expect((await fetch(`${google}${purchase}`, { headers })).status).not.toBe(401);
    const wrong = { authorization: `Bearer x${access_token}` };
    expect((await fetch(`${google}${purchase}`, { headers: wrong })).status).toBe(401);
  });

  test('the clock keeps its advance when the sandbox is reset', async () => {
    const sandbox = await start();
    await advance(sandbox, '14d');
    await send(sandbox, 'DELETE', '');
    expect((await send(sandbox, 'GET')).body).toMatchObject({ data: { advanced_ms: 14 * DAY_MS } });
  });

  test('the advance is stored in a file and survives a restart of the sandbox', async () => {
    const clockFile = temporaryFile();
    const before = await start({ clockFile });
    await advance(before, '14d');
    await before.close();
    const after = await start({ clockFile });
    expect((await send(after, 'GET')).body).toMatchObject({ data: { advanced_ms: 14 * DAY_MS } });
  });

  test('the clock starts at the system time if its file cannot be read', async () => {
    const clockFile = temporaryFile();
    mkdirSync(dirname(clockFile));
    writeFileSync(clockFile, 'yesterday');
    expect((await send(await start({ clockFile }), 'GET')).body).toMatchObject({ data: { advanced_ms: 0 } });
  });
});

describe('a process of the product', () => {
  const log = createLog({ service: 'sandbox', level: 'silent' });

  const follow = async (url: string | undefined, isDemo = true) => {
    const cleanup = createCleanup(log);
    closers.push(() => cleanup.close());
    return openClock({ SEED_DEMO: isDemo, SANDBOX_URL: url }, log, cleanup);
  };
  const aheadMs = (clock: { now(): Date }): number => clock.now().getTime() - Date.now();

  test('every process has followed the clock when the response to an advance arrives', async () => {
    const sandbox = await start();
    const clocks = await Promise.all(Array.from({ length: 8 }, () => follow(sandbox.url)));
    for (const days of [1, 2, 3]) {
      await advance(sandbox, '1d');
      for (const clock of clocks) expect(Math.abs(aheadMs(clock) - days * DAY_MS)).toBeLessThan(SECOND_MS);
    }
  });

  test("a process starts at the sandbox's time, which is not reported as an advance", async () => {
    const sandbox = await start();
    await advance(sandbox, '14d');
    const clock = await follow(sandbox.url);
    expect(Math.round(aheadMs(clock) / DAY_MS)).toBe(14);
    expect(clock.advancedWithin(Number.POSITIVE_INFINITY)).toBe(0);
  });

  test('a process is notified of each advance, and knows how much of it is recent', async () => {
    const sandbox = await start();
    const clock = await follow(sandbox.url);
    let advances = 0;
    clock.onAdvance(() => {
      advances += 1;
    });
    await advance(sandbox, '1h');
    await sleep(60);
    await advance(sandbox, '1m');
    expect(advances).toBe(2);
    expect(clock.advancedWithin(30)).toBe(60_000);
    expect(clock.advancedWithin(10_000)).toBe(60_000 + HOUR_MS);
  });

  test('a process advances a sandbox that restarts without its file to its own time', async () => {
    const sandbox = await start();
    const { port } = new URL(sandbox.url);
    const clock = await follow(sandbox.url);
    await advance(sandbox, '14d');
    await sandbox.close();
    const restarted = await start({ port: Number(port) });
    const advancedMs = async (): Promise<unknown> => {
      // The connection to the first sandbox may still appear to be open.
      const answer = await send(restarted, 'GET').catch(() => undefined);
      return (answer?.body.data as { advanced_ms: number } | undefined)?.advanced_ms;
    };
    await eventually(async () => (await advancedMs()) === 14 * DAY_MS);
    expect(Math.round(aheadMs(await follow(restarted.url)) / DAY_MS)).toBe(14);
    await advance(restarted, '1d');
    await eventually(async () => Math.round(aheadMs(clock) / DAY_MS) === 15);
    expect(clock.advancedWithin(Number.POSITIVE_INFINITY)).toBe(15 * DAY_MS);
  });

  test.each([-1, 1.5, 3_651 * DAY_MS, '1', null])(
    'a reported advance of %j is refused',
    async (advanced_ms) => {
      const sandbox = await start();
      expect(await send(sandbox, 'PUT', '/clock/reached', { advanced_ms })).toMatchObject({
        status: 422,
        body: { errors: { advanced_ms: [expect.any(String)] } },
      });
      expect((await send(sandbox, 'GET')).body).toMatchObject({ data: { advanced_ms: 0 } });
    },
  );

  test('a process that is behind does not turn the sandbox back', async () => {
    const sandbox = await start();
    await advance(sandbox, '14d');
    await send(sandbox, 'PUT', '/clock/reached', { advanced_ms: DAY_MS });
    expect((await send(sandbox, 'GET')).body).toMatchObject({ data: { advanced_ms: 14 * DAY_MS } });
  });

  test.each([
    ['without a sandbox', true, false],
    ['without the demo data', false, true],
  ])('a process has the system clock %s', async (_case, isDemo, hasSandbox) => {
    const sandbox = await start();
    const clock = await follow(hasSandbox ? sandbox.url : undefined, isDemo);
    await advance(sandbox, '1d');
    expect(Math.abs(aheadMs(clock))).toBeLessThan(SECOND_MS);
  });

  test.each([
    ['404 to every request', 404, 404],
    ['422 to a process that reports its time', 200, 422],
  ])(
    'a process asks less and less often, and logs once, while the sandbox answers %s',
    async (_case, read, report) => {
      let advanced_ms = DAY_MS;
      /** When the clock was read. */
      const reads: number[] = [];
      const server = createServer((request, response) => {
        if (request.method === 'GET') reads.push(performance.now());
        response.statusCode = request.method === 'PUT' ? report : read;
        response.end(JSON.stringify({ data: { advanced_ms } }));
        advanced_ms = 0;
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closers.push(() => {
        server.closeAllConnections();
        server.close();
      });
      const lines: string[] = [];
      const destination = { write: (line: string) => void lines.push(line) };
      const warnings = createLog({ service: 'sandbox', level: 'warn', destination });
      const cleanup = createCleanup(log);
      closers.push(() => cleanup.close());
      const { port } = server.address() as AddressInfo;
      const SANDBOX_URL = `http://127.0.0.1:${port}`;
      const times = { ...CLOCK_TIMES, retryMs: 10, firstAnswerMs: 100 };
      await openClock({ SEED_DEMO: true, SANDBOX_URL }, warnings, cleanup, times);
      await eventually(() => reads.length > 12);
      expect(lines).toEqual([expect.stringContaining(`the sandbox answered ${report}`)]);
      // A clock that was read once has no failure before the second read.
      const failures = reads.slice(read === 200 ? 1 : 0);
      const delays = failures.slice(1).map((at, index) => at - (failures[index] ?? 0));
      for (const [index, delayMs] of delays.entries())
        expect(delayMs).toBeGreaterThan((index + 1) * times.retryMs - 2);
      const endedAt = performance.now();
      await cleanup.close();
      expect(performance.now() - endedAt).toBeLessThan(SECOND_MS);
    },
  );

  test('a process starts and ends at once although the sandbox does not answer', async () => {
    const startedAt = performance.now();
    const cleanup = createCleanup(log);
    const config = { SEED_DEMO: true, SANDBOX_URL: 'http://127.0.0.1:1' };
    const clock = await openClock(config, log, cleanup, { ...CLOCK_TIMES, firstAnswerMs: 100 });
    expect(Math.abs(aheadMs(clock))).toBeLessThan(SECOND_MS);
    expect(performance.now() - startedAt).toBeLessThan(CLOCK_TIMES.firstAnswerMs);
    expect(CLOCK_TIMES.firstAnswerMs).toBeLessThan(10_000);
    const endedAt = performance.now();
    await cleanup.close();
    expect(performance.now() - endedAt).toBeLessThan(SECOND_MS);
  });
});
