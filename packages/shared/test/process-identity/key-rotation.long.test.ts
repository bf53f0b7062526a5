/** Keys are replaced while processes call each other: no request fails, and the old keys are refused at the end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createGrpcClient, type GrpcClient } from '../../src/grpc/client.ts';
import { grpcDefinitions } from '../../src/grpc/load.ts';
import { type GrpcHandlers, type GrpcServer, grpcService, startGrpcServer } from '../../src/grpc/server.ts';
import { defineRoute, ok } from '../../src/http/define-route.ts';
import { createServer } from '../../src/http/server.ts';
import { GUEST } from '../../src/kernel/caller.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createHealth } from '../../src/kernel/health.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createMetrics } from '../../src/kernel/metrics.ts';
import type { ProcessName } from '../../src/kernel/process-name.ts';
import { sleep } from '../../src/kernel/timing.ts';
import {
  CALLER_HEADER,
  type CallerSigner,
  createCallerSigner,
} from '../../src/process-identity/caller-context.ts';
import {
  beginRotation,
  createMissingKeys,
  finishRotation,
  keyDirectories,
  switchKey,
} from '../../src/process-identity/key-files.ts';
import { openProcessKeys, type ProcessKeys } from '../../src/process-identity/process-keys.ts';
import { caller, eventually } from '../../src/testing/harness.ts';

type WalletDefinition = ReturnType<typeof grpcDefinitions.wallet>;

const WORKERS = 8;
/** Pause of a client between two requests. */
const PAUSE_MS = 20;
/** Between two steps. */
const REQUESTS = 20;
const CALLERS = ['gateway', 'content'] as const;

const directory = mkdtempSync(join(tmpdir(), 'rotation-'));
const log = createLog({ service: 'test', level: 'silent' });
const metrics = createMetrics('test', { defaults: false });
const problems: string[] = [];

const open = (process: ProcessName): { keys: ProcessKeys; signer: CallerSigner } => {
  const { PRIVATE_KEY_DIRECTORY, PUBLIC_KEYS_DIRECTORY } = keyDirectories(directory, process);
  const keys = openProcessKeys({
    process,
    privateDirectory: PRIVATE_KEY_DIRECTORY,
    publicDirectory: PUBLIC_KEYS_DIRECTORY,
    publicKeysCheckMs: 1_000,
    onProblem: ({ message }) => void problems.push(message),
  });
  return { keys, signer: createCallerSigner({ keys, clock: systemClock }) };
};

let processes: Record<'gateway' | 'content' | 'wallet', ReturnType<typeof open>>;
let wallet: GrpcServer;
let client: GrpcClient<WalletDefinition>;
let content: FastifyInstance;
let url: string;

/** The gateway calls content over HTTP, and content calls the wallet over gRPC. */
beforeAll(async () => {
  createMissingKeys(directory);
  processes = { gateway: open('gateway'), content: open('content'), wallet: open('wallet') };
  const handlers = { GetRates: async () => ({ commission_percent: 10 }) };
  wallet = await startGrpcServer({
    address: '127.0.0.1:0',
    services: [grpcService(grpcDefinitions.wallet(), handlers as unknown as GrpcHandlers<WalletDefinition>)],
    signer: processes.wallet.signer,
    metrics,
    log,
  });
  client = createGrpcClient({
    definition: grpcDefinitions.wallet(),
    address: wallet.address,
    target: 'wallet',
    signer: processes.content.signer,
    deadlineMs: 30_000,
  });
  const route = defineRoute({
    method: 'GET',
    path: '/rates',
    summary: 'Rates',
    tag: 'test',
    access: 'guest',
    responses: { 200: z.object({ commission: z.number() }) },
    handle: async ({ caller: user }) => {
      const rates = await client.call('GetRates', {}, { caller: user });
      return ok({ commission: rates.commission_percent });
    },
  });
  content = await createServer({
    service: 'content',
    routes: [route],
    signer: processes.content.signer,
    limiter: { consume: () => Promise.reject(new Error('no limit here')) },
    health: createHealth(),
    metrics: createMetrics('content', { defaults: false }),
    log,
    uuid: () => 'an-id',
  });
  url = await content.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(async () => {
  client.close();
  await content.close();
  await wallet.close();
  rmSync(directory, { recursive: true });
});

const send = async (context: string): Promise<number> => {
  const answer = await fetch(`${url}/api/v1/rates`, { headers: { [CALLER_HEADER]: context } });
  await answer.text();
  return answer.status;
};

const startLoad = () => {
  const statuses = new Map<number, number>();
  let stopped = false;
  let sent = 0;
  const work = async (): Promise<void> => {
    while (!stopped) {
      sent += 1;
      // Guests and users: some of their contexts are reused, others are new.
      const as = sent % 3 === 0 ? GUEST : caller(sent % 50);
      const status = await send(processes.gateway.signer.sign('content', as));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await sleep(PAUSE_MS);
    }
  };
  const workers = Promise.all(Array.from({ length: WORKERS }, work));
  const answered = (): number => [...statuses.values()].reduce((sum, count) => sum + count, 0);
  return {
    more: async (): Promise<void> => {
      const before = answered();
      await eventually(() => answered() >= before + REQUESTS);
    },
    stop: async (): Promise<ReadonlyMap<number, number>> => {
      stopped = true;
      await workers;
      return statuses;
    },
  };
};

test('two rotations of two processes at once, under load: no request fails, and the old keys end', async () => {
  const load = startLoad();
  const { gateway, wallet: callee, content: middle } = processes;
  for (let round = 0; round < 2; round += 1) {
    const old = { gateway: gateway.keys.own().id, content: middle.keys.own().id };
    const stolen = gateway.signer.sign('content', caller(1_000));
    await load.more();
    // At once: the receivers learn of the next key by its unknown id, before they read the files again by themselves.
    for (const process of CALLERS) {
      beginRotation(directory, process);
      switchKey(directory, process);
    }
    await eventually(() => gateway.keys.own().id !== old.gateway && middle.keys.own().id !== old.content);
    await load.more();
    for (const process of CALLERS) finishRotation(directory, process);
    await eventually(
      () => middle.keys.find(old.gateway) === undefined && callee.keys.find(old.content) === undefined,
    );
    await load.more();
    expect(await send(stolen)).toBe(503);
  }
  const statuses = await load.stop();
  expect([...statuses.keys()]).toEqual([200]);
  expect(problems).toEqual([]);
});
