import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigError, loadConfig } from '../src/config.ts';
import { type Sandbox, startSandbox } from '../src/service.ts';
import { form, pause, startTestSandbox, type TestSandbox, timed } from './harness.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

describe('a host', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox({ hosts: ['sandbox'] });
  });
  afterAll(() => sandbox.close());

  const statusFor = async (hosts: readonly string[], port = new URL(sandbox.url).port): Promise<number> => {
    const socket = connect(Number(port), '127.0.0.1');
    const lines = ['GET /health/live HTTP/1.1', ...hosts.map((host) => `host: ${host}`), 'connection: close'];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    const [chunk] = await once(socket, 'data');
    socket.destroy();
    return Number(String(chunk).split(' ')[1]);
  };

  test.each([
    'localhost',
    'LocalHost:8090',
    'localhost.',
    'sandbox.localhost:8090',
    '127.0.0.1:8090',
    '127.0.0.53',
    '[::1]:8090',
    'sandbox:8090',
    'Sandbox',
    'api.kavenegar.com',
    'androidpublisher.googleapis.com',
  ])('the host %s is served', async (host) => {
    expect(await statusFor([host])).toBe(200);
  });

  test.each([
    'evil.example',
    'evil.example:8090',
    'localhost.evil.example',
    'notlocalhost',
    '127.0.0.1.evil.example',
    'sandbox.evil.example',
    '128.0.0.1',
    '[::2]',
  ])('a request for the host %s returns 421, including at the addresses of the providers', async (host) => {
    expect(await statusFor([host])).toBe(421);
    expect(await statusFor([host], new URL(sandbox.addresses[1]?.url ?? '').port)).toBe(421);
  });

  test.each([[['localhost', 'localhost']], [['[::1']], [['user@localhost']], [['localhost/']], [[]]])(
    'a request with the Host headers %j returns 400',
    async (hosts) => {
      expect(await statusFor(hosts)).toBe(400);
    },
  );

  test('a host of SANDBOX_HOSTS is a name without a port', () => {
    const hosts = (text: string) => loadConfig({ SANDBOX_HOSTS: text }).hosts;
    expect(hosts('Sandbox, phone.test')).toEqual(['sandbox', 'phone.test']);
    expect([hosts(''), hosts('192.168.1.5,[fd00::1]')]).toEqual([[], ['192.168.1.5', '[fd00::1]']]);
    for (const wrong of ['http://sandbox', 'sandbox:8090', '*']) {
      expect(() => hosts(wrong)).toThrow(/SANDBOX_HOSTS: must be names/);
    }
  });
});

describe('the process', () => {
  /** Uses free ports unless a test chooses them: a product on this machine may use the default ones. */
  const FREE_PORTS = { HTTP_PORT: '0', PROVIDER_PORT: '0', SMTP_PORT: '0' };

  function run(environment: Record<string, string>) {
    const child = spawn(process.execPath, [MAIN], { env: { ...FREE_PORTS, ...environment } });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      output.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output.stderr += chunk;
    });
    return { child, output, exit: once(child, 'close') };
  }

  test('the process refuses to start in production: exit 78 and one line', async () => {
    const { output, exit } = run({ NODE_ENV: 'production' });
    expect((await exit)[0]).toBe(78);
    expect(output.stderr).toBe('sandbox: NODE_ENV: the sandbox does not run in production\n');
    expect(output.stdout).toBe('');
  });

  test('a port in use is named in one line', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const { output, exit } = run({ HTTP_PORT: String(port), LOG_LEVEL: 'silent' });
    for (const variable of ['providerPort', 'smtpPort'])
      await expect(startSandbox({ [variable]: port })).rejects.toThrow(`127.0.0.1:${port}`);
    expect((await exit)[0]).toBe(1);
    expect(output.stderr.trim().split('\n')).toEqual([expect.stringContaining(`127.0.0.1:${port}`)]);
    holder.close();
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'the process exits 0 on %s, even with a slow caller waiting',
    async (signal) => {
      const { child, output, exit } = run({});
      while (!/listening at/.test(output.stdout) && child.exitCode === null) await pause(20);
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output.stdout)?.[0] ?? '';
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      const headers = { 'content-type': 'application/json' };
      await fetch(`${url}/_sandbox/sms/mode`, { method: 'PUT', headers, body: '{"mode":"slow"}' });
      const waiting = fetch(`${url}/kavenegar/v1/secret-key/verify/lookup.json`, {
        method: 'POST',
        body: form({ receptor: '09121234567', token: '123456', template: 'account-deletion-en' }),
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
  test('the configuration has defaults, and an empty variable is treated as unset', () => {
    expect(loadConfig({ HTTP_PORT: '', HOST: '' })).toEqual({
      host: '127.0.0.1',
      hosts: [],
      port: 8090,
      providerPort: 8091,
      smtpPort: 8089,
      apiUrl: 'http://127.0.0.1:8080',
      seedDemo: false,
      clockFile: undefined,
      logLevel: 'info',
    });
  });

  test('variables override the defaults', () => {
    expect(
      loadConfig({
        HTTP_PORT: '9000',
        PROVIDER_PORT: '0',
        SMTP_PORT: '9001',
        HOST: '0.0.0.0',
        LOG_LEVEL: 'debug',
        SANDBOX_HOSTS: 'sandbox',
        PUBLIC_BASE_URL: 'https://api.fitness.example:8443/v1',
        SEED_DEMO: '1',
        CLOCK_FILE: '/data/clock',
      }),
    ).toEqual({
      host: '0.0.0.0',
      hosts: ['sandbox'],
      port: 9000,
      providerPort: 0,
      smtpPort: 9001,
      apiUrl: 'https://api.fitness.example:8443',
      seedDemo: true,
      clockFile: '/data/clock',
      logLevel: 'debug',
    });
  });

  test('a wrong port is refused with a sentence that names the variable', () => {
    expect(() => loadConfig({ HTTP_PORT: 'eighty' })).toThrow('HTTP_PORT: must be a port, 0 to 65535');
  });

  test.each([
    { HTTP_PORT: '70000' },
    { HTTP_PORT: '1e3' },
    { PROVIDER_PORT: '65532' },
    { LOG_LEVEL: 'loud' },
    { PUBLIC_BASE_URL: 'nowhere' },
    { PUBLIC_BASE_URL: 'ftp://api.fitness.example' },
    { NODE_ENV: 'production' },
  ])('the configuration %j is refused', (environment) => {
    expect(() => loadConfig(environment)).toThrow(ConfigError);
  });
});

describe('the server', () => {
  let sandbox: TestSandbox;
  beforeAll(async () => {
    sandbox = await startTestSandbox();
  });
  afterAll(() => sandbox.close());

  test('the server reports that it is alive', async () => {
    const answer = await sandbox.call('GET', '/health/live');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ status: 'ok' });
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('an unknown route returns 404, and malformed JSON 400, both with a message', async () => {
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

  test('several sandboxes run side by side, and closing does not wait for slow callers', async () => {
    const slowMs = 60_000;
    const other = await startTestSandbox(slowMs);
    expect(other.url).not.toBe(sandbox.url);
    await other.call('PUT', '/_sandbox/sms/mode', { mode: 'slow' });
    const body = form({ receptor: '09121234567', token: '1', template: 'account-deletion-en' });
    const waiting = other.call('POST', '/kavenegar/v1/k/verify/lookup.json', body).catch(() => 'dropped');
    await pause(50);
    const { tookMs } = await timed(other.close());
    expect(tookMs).toBeLessThan(slowMs / 4);
    expect(await waiting).toBe('dropped');
    await other.close();
  });
});
