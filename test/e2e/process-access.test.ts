/** docs/process-access.md against the running product: each call from each process, signed with its key. */
import { readFileSync } from 'node:fs';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { deadlineIn } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { PROCESSES, type ProcessName } from '@fitness/shared/kernel/process-name.ts';
import { CALLER_HEADER, type CallerSigner } from '@fitness/shared/process-identity/caller-context.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { Client, credentials, Metadata, type ServiceDefinition, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { stack } from './support.ts';

const DOCUMENT = readFileSync(new URL('../../docs/process-access.md', import.meta.url), 'utf8');

interface Row {
  server: ProcessName;
  /** `HTTP`, or an RPC such as `Wallet.Book`. */
  call: string;
  callers: ReadonlySet<ProcessName>;
}

const rows: readonly Row[] = DOCUMENT.split('\n')
  .filter((line) => /^\| [a-z-]+ +\| `/.test(line))
  .map((line) => line.split('|').slice(1, -1))
  .map((cells) => cells.map((cell) => cell.trim()))
  .map(([server = '', call = '', ...allowed]) => ({
    server: server as ProcessName,
    call: call.replaceAll('`', ''),
    callers: new Set(PROCESSES.filter((_process, column) => allowed[column] === 'yes')),
  }));

const METHODS: ReadonlyMap<string, ServiceDefinition[string]> = new Map(
  Object.values(grpcDefinitions)
    .flatMap((load) => Object.values(load() as unknown as ServiceDefinition))
    .map((method) => [method.path.split('.').at(-1)?.replace('/', '.') ?? '', method]),
);

/** A route of each service that does not return 401 to this caller. */
const ROUTES: Readonly<Record<string, string>> = {
  identity: '/roles',
  wallet: '/payments/balance',
  gyms: '/gyms',
  content: '/posts',
  media: '/media/1/x',
  'store-billing': '/payments/store-purchases/refund-queue',
};

const operator: UserCaller = {
  kind: 'user',
  userId: 1,
  permissions: new Set(PERMISSIONS),
  tokenId: 'of this test',
  tokenKind: 'session',
};

const log = createLog({ service: 'test', level: 'silent' });
const signers = new Map<ProcessName, CallerSigner>();
const clients = new Map<ProcessName, Client>();

beforeAll(() => {
  for (const process of PROCESSES) {
    const { environment, grpcPort } = stack().part(process);
    const { PRIVATE_KEY_DIRECTORY = '', PUBLIC_KEYS_DIRECTORY = '' } = environment;
    signers.set(process, openCallerSigner(process, { PRIVATE_KEY_DIRECTORY, PUBLIC_KEYS_DIRECTORY }, log));
    clients.set(process, new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure()));
  }
});

afterAll(() => {
  for (const client of clients.values()) client.close();
});

const sign = (from: ProcessName, audience: ProcessName): string =>
  signers.get(from)?.sign(audience, operator) ?? '';

/** Whether a handler was reached. It may reject the empty request. */
const reachesHandler = (server: ProcessName, call: string, context: string | undefined): Promise<boolean> => {
  const method = METHODS.get(call);
  if (method === undefined) throw new Error(`there is no RPC ${call}`);
  const metadata = new Metadata();
  if (context !== undefined) metadata.set(CALLER_HEADER, context);
  return new Promise((resolve, reject) => {
    clients
      .get(server)
      ?.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        {},
        metadata,
        { deadline: deadlineIn(30_000) },
        (error) => {
          if (error === null) return resolve(true);
          const isAnswer = error.metadata.get('x-error-bin').length > 0;
          if (isAnswer) return resolve(true);
          if (error.code === status.UNAUTHENTICATED) return resolve(false);
          reject(new Error(`${call} at ${server}: ${error.message}`));
        },
      );
  });
};

const reachesRoute = async (server: ProcessName, context: string | undefined): Promise<boolean> => {
  const headers = context === undefined ? {} : { [CALLER_HEADER]: context };
  const answer = await fetch(`${stack().part(server).url}/api/v1${ROUTES[server]}`, { headers });
  if (answer.status >= 500) throw new Error(`HTTP at ${server}: ${answer.status}`);
  return answer.status !== 401;
};

const reaches = ({ server, call }: Row, context: string | undefined): Promise<boolean> =>
  call === 'HTTP' ? reachesRoute(server, context) : reachesHandler(server, call, context);

describe('docs/process-access.md', () => {
  test('the document contains every RPC and each service', () => {
    const calls = new Set(rows.map(({ call }) => call));
    expect([...METHODS.keys()].filter((call) => !calls.has(call))).toEqual([]);
    expect(rows.filter(({ call }) => call === 'HTTP').map(({ server }) => server)).toEqual(
      PROCESSES.filter((process) => process !== 'gateway'),
    );
  });

  test.each([...rows])('$call at $server admits the declared processes and no other', async (row) => {
    const admitted: ProcessName[] = [];
    for (const from of PROCESSES) if (await reaches(row, sign(from, row.server))) admitted.push(from);
    expect(admitted).toEqual(PROCESSES.filter((process) => row.callers.has(process)));
  });

  test.each([...rows])(
    '$call at $server refuses unsigned calls and calls signed for another process',
    async (row) => {
      expect(await reaches(row, undefined)).toBe(false);
      const [from = 'gateway'] = row.callers;
      for (const audience of PROCESSES.filter((process) => process !== row.server))
        expect([audience, await reaches(row, sign(from, audience))]).toEqual([audience, false]);
    },
  );
});
