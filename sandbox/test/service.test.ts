import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigError, loadConfig } from '../src/config.ts';
import { form, pause, startTestSandbox, type TestSandbox, timed } from './harness.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

describe('the process', () => {
  function run(environment: Record<string, string>) {
    const child = spawn(process.execPath, [MAIN], { env: environment });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      output.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output.stderr += chunk;
    });
    return { child, output, exit: once(child, 'close') };
  }

  test('refuses to start in production: exit 78 and one line', async () => {
    const { output, exit } = run({ NODE_ENV: 'production' });
    expect((await exit)[0]).toBe(78);
    expect(output.stderr).toBe('sandbox: NODE_ENV: the sandbox does not run in production\n');
    expect(output.stdout).toBe('');
  });

  test('refuses a wrong port: exit 78 and one line that names the variable', async () => {
    const { output, exit } = run({ HTTP_PORT: 'eighty' });
    expect((await exit)[0]).toBe(78);
    expect(output.stderr).toBe('sandbox: HTTP_PORT: must be a port, 0 to 65535\n');
  });

  test('names a port that is taken in one line', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    try {
      const { port } = holder.address() as { port: number };
      const { output, exit } = run({ HTTP_PORT: String(port), LOG_LEVEL: 'silent' });
      expect((await exit)[0]).toBe(1);
      expect(output.stderr.trim().split('\n')).toHaveLength(1);
      expect(output.stderr).toContain(`127.0.0.1:${port}`);
    } finally {
      holder.close();
    }
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'ends with 0 on %s, also with a slow caller waiting',
    async (signal) => {
      const { child, output, exit } = run({ HTTP_PORT: '0' });
      while (!/listening at/.test(output.stdout) && child.exitCode === null) await pause(20);
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output.stdout)?.[0] ?? '';
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      const headers = { 'content-type': 'application/json' };
      await fetch(`${url}/_sandbox/sms/mode`, { method: 'PUT', headers, body: '{"mode":"slow"}' });
      const waiting = fetch(`${url}/kavenegar/v1/secret-key/verify/lookup.json`, {
        method: 'POST',
        body: form({ receptor: '09121234567', token: '123456', template: 't' }),
      }).catch(() => 'dropped');
      await pause(100);
      child.kill(signal);
      expect((await exit)[0]).toBe(0);
      expect(await waiting).toBe('dropped');
      expect(output.stdout).not.toMatch(/secret-key|9121234567/);
    },
  );
});

describe('configuration', () => {
  test('has defaults, and an empty variable counts as unset', () => {
    expect(loadConfig({ HTTP_PORT: '', HOST: '' })).toEqual({
      host: '127.0.0.1',
      port: 8090,
      logLevel: 'info',
    });
  });

  test('takes what is set', () => {
    expect(loadConfig({ HTTP_PORT: '9000', HOST: '0.0.0.0', LOG_LEVEL: 'debug' })).toEqual({
      host: '0.0.0.0',
      port: 9000,
      logLevel: 'debug',
    });
  });

  test.each([
    { HTTP_PORT: '70000' },
    { HTTP_PORT: '1e3' },
    { LOG_LEVEL: 'loud' },
    { NODE_ENV: 'production' },
  ])('refuses %j', (environment) => {
    expect(() => loadConfig(environment)).toThrow(ConfigError);
  });
});

describe('the server', () => {
  let sandbox: TestSandbox;
  beforeAll(async () => {
    sandbox = await startTestSandbox();
  });
  afterAll(() => sandbox.close());

  test('is alive', async () => {
    const answer = await sandbox.call('GET', '/health/live');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ status: 'ok' });
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('the page at the root says so when nothing has happened yet', async () => {
    const page = await sandbox.call('GET', '/');
    expect(page.status).toBe(200);
    expect(page.text.match(/None yet\./g)).toHaveLength(3);
  });

  test('the page at the root shows messages, payments and purchases, escaped and without a script', async () => {
    const message = '<script>alert("1")</script> code 778899';
    await sandbox.call('POST', '/kavenegar/v1/k/sms/send.json', form({ receptor: '09121234567', message }));
    const request = {
      merchant: 'zibal',
      amount: 50_000,
      callbackUrl: 'http://shop.test/back',
      orderId: '<i>',
    };
    const { trackId } = (await sandbox.call('POST', '/zibal/v1/request', request)).json;
    await sandbox.call('PUT', '/_sandbox/store/purchases/tok%3Cb%3E', {
      product_id: 'p&q',
      state: 'pending',
    });
    const page = await sandbox.call('GET', '/');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.text).not.toMatch(/<script|<i>|tok<b>|src=/);
    expect(page.text).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; code 778899');
    expect(page.text).toContain('<code>778899</code>');
    expect(page.text).toContain('+989121234567');
    expect(page.text).toContain(`href="/zibal/start/${trackId}"`);
    expect(page.text).toContain(`action="/_sandbox/zibal/${trackId}/pay"`);
    expect(page.text).toContain(`action="/_sandbox/zibal/${trackId}/cancel"`);
    expect(page.text).toContain('50,000 Rial');
    expect(page.text).toContain('tok&lt;b&gt;');
    expect(page.text).toContain('p&amp;q');
  });

  test('an unknown route is 404 and malformed JSON 400, both with a message', async () => {
    expect((await sandbox.call('GET', '/nowhere')).json).toEqual({ message: expect.any(String) });
    const headers = { 'content-type': 'application/json' };
    const broken = await fetch(`${sandbox.url}/_sandbox/zibal/mode`, { method: 'PUT', headers, body: '{' });
    expect(broken.status).toBe(400);
    expect(await broken.json()).toEqual({ message: expect.any(String) });
  });

  test('a DELETE with a JSON content type and no body is understood', async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${sandbox.url}/_sandbox`, { method: 'DELETE', headers });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ data: { forgotten: true } });
  });

  test('several sandboxes stand side by side, and closing does not wait for slow callers', async () => {
    const slowMs = 60_000;
    const other = await startTestSandbox(slowMs);
    expect(other.url).not.toBe(sandbox.url);
    await other.call('PUT', '/_sandbox/sms/mode', { mode: 'slow' });
    const body = form({ receptor: '09121234567', token: '1', template: 't' });
    const waiting = other.call('POST', '/kavenegar/v1/k/verify/lookup.json', body).catch(() => 'dropped');
    await pause(50);
    const { tookMs } = await timed(other.close());
    expect(tookMs).toBeLessThan(slowMs / 4);
    expect(await waiting).toBe('dropped');
    await other.close();
  });
});
