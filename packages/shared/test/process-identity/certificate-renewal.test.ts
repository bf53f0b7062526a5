/** The files of certificates are replaced while processes call each other: new connections use them, and no call fails. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { GrpcClient } from '../../src/grpc/client.ts';
import { grpcDefinitions } from '../../src/grpc/load.ts';
import { type GrpcHandlers, grpcService } from '../../src/grpc/server.ts';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createMissingCertificates, tlsDirectory } from '../../src/process-identity/certificates.ts';
import { readTlsFiles, TLS_CHECK_MS, TLS_FILES } from '../../src/process-identity/process-tls.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { dropDatabase, eventually, testConfig } from '../../src/testing/harness.ts';
import { pause } from '../messaging/support.ts';

type WalletDefinition = ReturnType<typeof grpcDefinitions.wallet>;

const directory = mkdtempSync(join(tmpdir(), 'renewal-'));
const config = { ...testConfig('wallet'), TLS_DIRECTORY: tlsDirectory(directory, 'wallet') };
/** The product's is tested below. */
const CHECK_MS = 50;
const logged: string[] = [];
const closing: (() => Promise<void>)[] = [];
let service: RunningService;
let client: GrpcClient<WalletDefinition>;
let connectTo: (address: string) => GrpcClient<WalletDefinition>;

beforeAll(async () => {
  // They end in 65 days, so that the next call renews them.
  await createMissingCertificates(directory, new Date(Date.now() - 300 * DAY_MS));
  const log = createLog({
    service: 'wallet',
    level: 'error',
    destination: { write: (line: string) => void logged.push(line) },
  });
  const runtime = await createServiceRuntime('wallet', config, { log, tlsCheckMs: CHECK_MS });
  const handlers = { GetRates: async () => ({ commission_percent: 10 }) };
  service = await runtime.serve({
    routes: [],
    grpc: [grpcService(grpcDefinitions.wallet(), handlers as unknown as GrpcHandlers<WalletDefinition>)],
    consumers: [],
  });
  const calling = await createServiceRuntime(
    'content',
    { ...testConfig('content'), TLS_DIRECTORY: tlsDirectory(directory, 'content') },
    { tlsCheckMs: CHECK_MS },
  );
  closing.push(() => calling.cleanup.close());
  connectTo = (address) => calling.grpcClient('wallet', grpcDefinitions.wallet(), address);
  client = connectTo(service.grpcAddress);
});

afterAll(async () => {
  for (const close of closing) await close();
  await service.close();
  await dropDatabase(config);
  rmSync(directory, { recursive: true });
});

const fileOf = (process: 'wallet' | 'content', name: keyof typeof TLS_FILES): string =>
  join(tlsDirectory(directory, process), TLS_FILES[name]);
const serialIn = (process: 'wallet' | 'content'): string =>
  new X509Certificate(readFileSync(fileOf(process, 'cert'))).serialNumber;

const filesOf = (process: 'wallet' | 'content') => readTlsFiles(process, tlsDirectory(directory, process));

/** The serial number of the certificate that a new connection gets. */
const serialAt = (address: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(address);
    const files = filesOf('content');
    const socket: TLSSocket = connect({ host, port: Number(port), servername: 'wallet', ...files }, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber ?? '');
      socket.destroy();
    });
    socket.once('error', reject);
  });

const metricsText = (): Promise<string> =>
  new Promise((resolve, reject) => {
    const { ca } = filesOf('content');
    get(`${service.url}/metrics`, { ca, servername: 'wallet', agent: false }, async (response) => {
      resolve(Buffer.concat(await response.toArray()).toString());
    }).once('error', reject);
  });

const endIn = async (certificate: string): Promise<number> => {
  const [, value] =
    new RegExp(`tls_certificate_not_after_seconds{certificate="${certificate}"[^}]*} (\\S+)`).exec(
      await metricsText(),
    ) ?? [];
  return Number(value) * 1_000;
};

test('new connections of both servers use new files within seconds, and no call fails meanwhile', async () => {
  expect(TLS_CHECK_MS).toBe(10_000);
  const before = serialIn('wallet');
  const addresses = [service.url, `https://${service.grpcAddress}`];
  expect(await Promise.all(addresses.map(serialAt))).toEqual([before, before]);
  expect(await endIn('process')).toBeCloseTo(Date.now() + 65 * DAY_MS, -6);
  expect(await endIn('authority')).toBeCloseTo(Date.now() + 3_350 * DAY_MS, -6);
  let stopped = false;
  let calls = 0;
  const calling = (async () => {
    while (!stopped) {
      expect((await client.call('GetRates', {})).commission_percent).toBe(10);
      calls += 1;
      await pause(5);
    }
  })();
  expect(await createMissingCertificates(directory)).toContain('wallet');
  const renewed = serialIn('wallet');
  expect(renewed).not.toBe(before);
  await eventually(async () =>
    (await Promise.all(addresses.map(serialAt))).every((serial) => serial === renewed),
  );
  expect(await endIn('process')).toBeCloseTo(Date.now() + 365 * DAY_MS, -6);
  const callsWithNewFiles = calls;
  await eventually(() => calls > callsWithNewFiles + 1);
  stopped = true;
  await calling;
});

test('a client uses its new certificate for new connections', async () => {
  const shown = new Set<string>();
  const server = createTlsServer({ ...filesOf('wallet'), requestCert: true }, (socket) => {
    shown.add(socket.getPeerX509Certificate()?.serialNumber ?? '');
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const target = connectTo(`127.0.0.1:${port}`);
  const call = () => target.call('GetRates', {}).catch(() => undefined);
  const before = serialIn('content');
  await eventually(async () => {
    await call();
    return shown.has(before);
  });
  rmSync(fileOf('content', 'cert'));
  expect(await createMissingCertificates(directory)).toEqual(['content']);
  await eventually(async () => {
    await call();
    return shown.has(serialIn('content'));
  });
  server.close();
});

test('files that do not belong to each other are reported once, and the former ones stay in use', async () => {
  const used = serialIn('wallet');
  logged.length = 0;
  const certificate = readFileSync(fileOf('wallet', 'cert'));
  writeFileSync(fileOf('wallet', 'cert'), 'half of a certi');
  await eventually(() => logged.length > 0);
  expect(await serialAt(service.url)).toBe(used);
  await pause(10 * CHECK_MS);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('the files of the certificate cannot be used');
  writeFileSync(fileOf('wallet', 'cert'), certificate);
});
