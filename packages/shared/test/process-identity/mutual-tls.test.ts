/** Mutual TLS: a process without a certificate, or with another process's, is refused on both sides. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createGrpcClient, type GrpcClient } from '../../src/grpc/client.ts';
import { grpcDefinitions } from '../../src/grpc/load.ts';
import { type GrpcHandlers, type GrpcServer, grpcService, startGrpcServer } from '../../src/grpc/server.ts';
import { defineRoute, ok } from '../../src/http/define-route.ts';
import { createServer } from '../../src/http/server.ts';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { createHealth } from '../../src/kernel/health.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createMetrics } from '../../src/kernel/metrics.ts';
import type { ProcessName } from '../../src/kernel/process-name.ts';
import { CALLER_HEADER } from '../../src/process-identity/caller-context.ts';
import { createMissingCertificates, tlsDirectory } from '../../src/process-identity/certificates.ts';
import {
  openProcessTls,
  type ProcessTls,
  readTlsFiles,
  TLS_FILES,
  type TlsFiles,
} from '../../src/process-identity/process-tls.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { dropDatabase, gatewayContext, testConfig, testSigner } from '../../src/testing/harness.ts';

type WalletDefinition = ReturnType<typeof grpcDefinitions.wallet>;

const log = createLog({ service: 'test', level: 'silent' });
const metrics = createMetrics('test', { defaults: false });
const directories: string[] = [];

/** A separate authority, with a certificate for each process. */
const createCertificates = async (): Promise<string> => {
  const directory = mkdtempSync(join(tmpdir(), 'certificates-'));
  directories.push(directory);
  await createMissingCertificates(directory);
  return directory;
};

let ours: string;
let others: string;
const tlsOf = (process: ProcessName, directory = ours): TlsFiles =>
  readTlsFiles(process, tlsDirectory(directory, process));
/** Certificates that are never renewed. */
const fixed = (files: TlsFiles): ProcessTls => ({ current: () => files, onRenewal: () => () => undefined });

beforeAll(async () => {
  ours = await createCertificates();
  others = await createCertificates();
});
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true });
});

describe('gRPC', () => {
  let server: GrpcServer;
  let impostor: GrpcServer;

  const startWallet = (tls: TlsFiles): Promise<GrpcServer> => {
    const handlers = { GetRates: async () => ({ commission_percent: 10 }) };
    return startGrpcServer({
      address: '127.0.0.1:0',
      services: [
        grpcService(grpcDefinitions.wallet(), handlers as unknown as GrpcHandlers<WalletDefinition>),
      ],
      signer: testSigner('wallet'),
      tls: fixed(tls),
      metrics,
      log,
    });
  };

  beforeAll(async () => {
    server = await startWallet(tlsOf('wallet'));
    impostor = await startWallet(tlsOf('gyms'));
  });
  afterAll(async () => {
    await server.close();
    await impostor.close();
  });

  const outcomeOf = async (address: string, tls: TlsFiles | undefined): Promise<unknown> => {
    const client = createGrpcClient({
      definition: grpcDefinitions.wallet(),
      address,
      target: 'wallet',
      signer: testSigner('content'),
      tls: tls && fixed(tls),
    });
    try {
      return (await client.call('GetRates', {})).commission_percent;
    } catch (error) {
      return (error as Error).message;
    } finally {
      client.close();
    }
  };

  test('a process with its certificate gets a response', async () => {
    expect(await outcomeOf(server.address, tlsOf('content'))).toBe(10);
  });

  test('a connection without a certificate, or with one of another authority, is refused', async () => {
    const { key, cert } = tlsOf('content', others);
    for (const tls of [undefined, { ...tlsOf('content'), key, cert }])
      expect(await outcomeOf(server.address, tls)).toEqual(expect.stringContaining('UNAVAILABLE'));
  });

  test('a context of one process over the connection of another is refused', async () => {
    expect(await outcomeOf(server.address, tlsOf('media'))).toContain('not over a connection of content');
  });

  test('a server with the certificate of another process, or of another authority, is not called', async () => {
    for (const [address, tls] of [
      [impostor.address, tlsOf('content')],
      [server.address, { ...tlsOf('content'), ca: tlsOf('content', others).ca }],
    ] as const)
      expect(await outcomeOf(address, tls)).toEqual(expect.stringContaining('UNAVAILABLE'));
  });
});

describe('HTTP', () => {
  let app: FastifyInstance;
  let port: number;

  beforeAll(async () => {
    app = await createServer({
      service: 'wallet',
      routes: [
        defineRoute({
          method: 'GET',
          path: '/things',
          summary: 'Things',
          tag: 'test',
          access: 'guest',
          responses: { 200: z.object({ fine: z.boolean() }) },
          handle: async () => ok({ fine: true }),
        }),
      ],
      signer: testSigner('wallet'),
      tls: fixed(tlsOf('wallet')),
      limiter: { consume: () => Promise.reject(new Error('no limit here')) },
      health: createHealth(),
      metrics: createMetrics('wallet', { defaults: false }),
      log,
      uuid: () => 'an-id',
    });
    port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
  });
  afterAll(() => app.close());

  const statusOf = (path: string, tls: Partial<TlsFiles>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = { [CALLER_HEADER]: gatewayContext('wallet') };
      const options = { host: '127.0.0.1', port, path, headers, servername: 'wallet', ...tls };
      request({ ...options, agent: false }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode));
      })
        .once('error', reject)
        .end();
    });

  test('the gateway with its certificate gets a response, even on a second connection', async () => {
    for (let i = 0; i < 2; i += 1) expect(await statusOf('/api/v1/things', tlsOf('gateway'))).toBe(200);
  });

  test('a signed request without a certificate of the gateway is rejected with 401, on every path', async () => {
    const { ca } = tlsOf('gateway');
    const { key, cert } = tlsOf('gateway', others);
    for (const tls of [{ ca }, { ca, key, cert }, tlsOf('content')]) {
      for (const path of ['/api/v1/things', '/internal/openapi.json'])
        expect([path, await statusOf(path, tls)]).toEqual([path, 401]);
    }
  });

  test('probes and Prometheus need no certificate', async () => {
    const { ca } = tlsOf('gateway');
    for (const path of ['/health/live', '/metrics']) expect(await statusOf(path, { ca })).toBe(200);
  });

  test('an unencrypted request gets no response', async () => {
    await expect(fetch(`http://127.0.0.1:${port}/health/live`)).rejects.toThrow();
  });
});

describe('a service with TLS_DIRECTORY', () => {
  const config = testConfig('wallet');
  const closing: (() => Promise<void>)[] = [];
  let service: RunningService;
  let client: GrpcClient<WalletDefinition>;

  beforeAll(async () => {
    const runtime = await createServiceRuntime('wallet', {
      ...config,
      TLS_DIRECTORY: tlsDirectory(ours, 'wallet'),
    });
    const handlers = { GetRates: async () => ({ commission_percent: 10 }) };
    service = await runtime.serve({
      routes: [],
      grpc: [grpcService(grpcDefinitions.wallet(), handlers as unknown as GrpcHandlers<WalletDefinition>)],
      consumers: [],
    });
    const calling = await createServiceRuntime('content', {
      ...testConfig('content'),
      TLS_DIRECTORY: tlsDirectory(ours, 'content'),
    });
    closing.push(() => calling.cleanup.close());
    client = calling.grpcClient('wallet', grpcDefinitions.wallet(), service.grpcAddress);
  });
  afterAll(async () => {
    for (const close of closing) await close();
    await service.close();
    await dropDatabase(config);
  });

  test('a service with TLS_DIRECTORY calls and responds by mutual TLS only', async () => {
    expect((await client.call('GetRates', {})).commission_percent).toBe(10);
    expect(service.url).toMatch(/^https:/);
    await expect(fetch(`${service.url.replace('https:', 'http:')}/health/live`)).rejects.toThrow();
    const plain = createGrpcClient({
      definition: grpcDefinitions.wallet(),
      address: service.grpcAddress,
      target: 'wallet',
      signer: testSigner('content'),
    });
    await expect(plain.call('GetRates', {})).rejects.toThrow('UNAVAILABLE');
    plain.close();
  });
});

describe('the files', () => {
  const openTls = (directory: string | undefined) =>
    openProcessTls({ process: 'wallet', directory, metrics, onProblem: () => undefined });

  test('certificates are not replaced until they expire soon', async () => {
    const directory = await createCertificates();
    const file = join(tlsDirectory(directory, 'media'), TLS_FILES.cert);
    const certificate = (): string => readFileSync(file, 'utf8');
    const before = certificate();
    expect(await createMissingCertificates(directory)).toEqual([]);
    expect(certificate()).toBe(before);
    const later = new Date(Date.now() + 300 * DAY_MS);
    expect(await createMissingCertificates(directory, later)).toContain('media');
    expect(certificate()).not.toBe(before);
    expect(tlsOf('media', directory).cert.toString()).toBe(certificate());
  });

  test.each([
    ['of another process', () => tlsDirectory(ours, 'media')],
    ['that are missing', () => join(ours, 'nowhere')],
  ])('a process does not start with certificate files %s: the variable is named', (_which, directory) => {
    expect(() => openTls(directory())).toThrow(/^Wrong configuration: TLS_DIRECTORY: /);
  });

  test('a process without TLS_DIRECTORY uses no TLS', () => {
    expect(openTls(undefined)).toBeUndefined();
  });
});
