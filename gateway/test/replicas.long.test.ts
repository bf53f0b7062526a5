/** A gateway with several replicas of a service: by a list of addresses, or by a name with a record for each replica. */
import dns from 'node:dns';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterEach, describe, expect, test } from '@jest/globals';
import { bearer, type Harness, startHarness } from './support.ts';

const NAME = 'wallet.replicas.test';
/** An address of the loopback network, which always leads to this machine. */
const hostOf = (index: number): string =>
  `127.${150 + Number(process.env.JEST_WORKER_ID ?? 0)}.0.${index + 1}`;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Replica {
  url: string;
  port: number;
  /** The bodies of the received requests. */
  bodies: string[];
  stop(): Promise<void>;
  start(): Promise<void>;
  /** From now on it accepts requests and does not respond, until the returned function is called. */
  freeze(): () => void;
}

const startReplica = async (index: number, { port = 0, delayMs = 0 } = {}): Promise<Replica> => {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await request.toArray()).toString();
    const isChecked = request.url?.startsWith('/internal/') === true;
    if (!isChecked && request.url !== '/health/live') replica.bodies.push(body);
    await thawed;
    if (delayMs > 0) await pause(delayMs);
    if (isDraining) response.setHeader('connection', 'close');
    response.writeHead(isChecked ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ index }));
  };
  let server: Server;
  let isDraining = false;
  let thawed = Promise.resolve();
  const replica: Replica = {
    url: '',
    port,
    bodies: [],
    // Like the product, it still responds for a while, and closes each connection with its response. A fixed time would
    // be too short on a busy machine: a request could be on its way to an open connection. Unused connections stay open.
    stop: async () => {
      isDraining = true;
      const connections = () =>
        new Promise<number>((resolve) => {
          server.getConnections((_, count) => resolve(count));
        });
      await eventually(async () => (await connections()) === 0, { timeoutMs: 2_000 }).catch(() => undefined);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
    start: async () => {
      isDraining = false;
      server = createServer(answer);
      await new Promise<void>((resolve) => server.listen(replica.port, hostOf(index), resolve));
      replica.port = (server.address() as AddressInfo).port;
      replica.url = `http://${hostOf(index)}:${replica.port}`;
    },
    freeze: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      thawed = promise;
      return resolve;
    },
  };
  await replica.start();
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return replica;
};

/** Replaces the system's resolver for `NAME`. */
const resolveTo = (hosts: string[]): { hosts: string[] } => {
  const records = { hosts };
  const { lookup } = dns.promises;
  const resolveName = async (name: string, options: object) =>
    name === NAME
      ? records.hosts.map((address) => ({ address, family: 4 }))
      : lookup(name, options as dns.LookupAllOptions);
  dns.promises.lookup = resolveName as typeof lookup;
  closers.push(() => {
    dns.promises.lookup = lookup;
  });
  return records;
};

/** Addresses are looked up this often. */
const REFRESH_MS = 200;

const startGateway = async (WALLET_HTTP_URL: string): Promise<Harness> => {
  const harness = await startHarness({ WALLET_HTTP_URL }, { replicaRefreshMs: REFRESH_MS });
  closers.push(() => harness.close());
  return harness;
};

const reading = (harness: Harness) => fetch(`${harness.url}/api/v1/payments`, { headers: bearer() });
const posting = (harness: Harness, body: string) =>
  fetch(`${harness.url}/api/v1/payments/deposit`, {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json' },
    body,
  });

interface Outcome {
  /** Number of requests that each replica has served. */
  counts: number[];
  statuses: Set<number>;
}

const load = async (
  requests: number,
  atOnce: number,
  send: (number: number) => Promise<Response>,
): Promise<Outcome> => {
  const counts: number[] = [];
  const statuses = new Set<number>();
  let sent = 0;
  const work = async (): Promise<void> => {
    while (sent < requests) {
      sent += 1;
      const answer = await send(sent);
      const { index = 0 } = (await answer.json()) as { index?: number };
      statuses.add(answer.status);
      counts[index] = (counts[index] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { counts: Array.from(counts, (count = 0) => count), statuses };
};

const expectEven = ({ counts, statuses }: Outcome, replicas: number): void => {
  const share = counts.reduce((sum, count) => sum + count, 0) / replicas;
  expect([...statuses]).toEqual([200]);
  expect(counts).toHaveLength(replicas);
  for (const count of counts) expect(Math.abs(count - share) / share).toBeLessThanOrEqual(0.2);
};

test('three replicas in a list of addresses share the requests evenly, one or eight at a time', async () => {
  const replicas = await Promise.all([0, 1, 2].map((index) => startReplica(index)));
  const harness = await startGateway(replicas.map(({ url }) => url).join(','));
  for (const atOnce of [1, 8]) {
    expectEven(await load(90, atOnce, () => reading(harness)), 3);
    expectEven(await load(90, atOnce, (number) => posting(harness, `{"number":${number}}`)), 3);
  }
});

test('the replicas of a name share the requests evenly, and a fourth one gets its share, even if requests never pause', async () => {
  const { port } = await startReplica(0);
  for (const index of [1, 2, 3]) await startReplica(index, { port });
  const records = resolveTo([0, 1, 2].map(hostOf));
  const harness = await startGateway(`http://${NAME}:${port}`);
  for (const atOnce of [1, 8]) expectEven(await load(90, atOnce, () => reading(harness)), 3);
  records.hosts = [0, 1, 2, 3].map(hostOf);
  while ((await load(20, 8, () => reading(harness))).counts[3] === undefined);
  expectEven(await load(120, 8, () => reading(harness)), 4);
});

test('a name that can no longer be resolved keeps its addresses', async () => {
  const { port } = await startReplica(0);
  resolveTo([hostOf(0)]);
  const harness = await startGateway(`http://${NAME}:${port}`);
  expect((await reading(harness)).status).toBe(200);
  let failures = 0;
  dns.promises.lookup = (async () => {
    failures += 1;
    throw Object.assign(new Error('no name server'), { code: 'EAI_AGAIN' });
  }) as never;
  await eventually(() => failures >= 3);
  expect((await reading(harness)).status).toBe(200);
});

describe('a replica that leaves and comes back', () => {
  /** More than are sent while the replica is away. */
  const REQUESTS = 300;

  test('no request fails or is sent twice while a replica leaves and comes back', async () => {
    const options = { delayMs: 10 };
    const replicas = [
      await startReplica(0, options),
      await startReplica(1, options),
      await startReplica(2, options),
    ];
    const harness = await startGateway(replicas.map(({ url }) => url).join(','));
    const loads = [
      load(REQUESTS, 4, () => reading(harness)),
      load(REQUESTS, 4, (number) => posting(harness, `{"number":${number}}`)),
    ];
    await eventually(() => (replicas[1]?.bodies.length ?? 0) > 20);
    await replicas[1]?.stop();
    await pause(300);
    await replicas[1]?.start();
    const outcomes = await Promise.all(loads);
    expect(outcomes.map(({ statuses }) => [...statuses])).toEqual([[200], [200]]);
    const posted = replicas.flatMap(({ bodies }) => bodies.filter((body) => body !== ''));
    expect(posted).toHaveLength(REQUESTS);
    expect(new Set(posted).size).toBe(REQUESTS);
    await eventually(
      async () => (await load(30, 1, () => reading(harness))).counts.filter(Boolean).length === 3,
    );
    expectEven(await load(90, 8, () => reading(harness)), 3);
  });

  test('every kind of request reaches another replica at its next try, including uploads', async () => {
    const [first, second] = [await startReplica(0), await startReplica(1)];
    const list = [first, second].map(({ url }) => url).join(',');
    const harness = await startHarness({ WALLET_HTTP_URL: list, MEDIA_HTTP_URL: list });
    closers.push(() => harness.close());
    await second.stop();
    const upload = () => {
      const body = new FormData();
      body.set('file', new Blob(['content']), 'a.txt');
      return fetch(`${harness.url}/api/v1/media`, { method: 'POST', headers: bearer(), body });
    };
    const sends = [reading, (to: Harness) => posting(to, '{}'), upload];
    for (const send of sends) {
      for (let count = 0; count < 4; count += 1) expect((await send(harness)).status).toBe(200);
    }
  });
});

describe('a frozen replica', () => {
  const start = async () => {
    const replicas = [await startReplica(0), await startReplica(1)] as const;
    return { replicas, harness: await startGateway(replicas.map(({ url }) => url).join(',')) };
  };

  test('its reads are sent to the other replica and its writes are not, and it is used again when it responds', async () => {
    const { replicas, harness } = await start();
    const [frozen, other] = replicas;
    await load(10, 1, () => reading(harness));
    const thaw = frozen.freeze();
    const writes = load(4, 4, (number) => posting(harness, `{"number":${number}}`));
    const { counts, statuses } = await load(40, 8, () => reading(harness));
    expect([counts[0], counts[1], [...statuses]]).toEqual([0, 40, [200]]);
    const received = frozen.bodies.length;
    for (const send of [reading, (to: Harness) => posting(to, '{}')]) {
      expect((await load(20, 4, () => send(harness))).counts[1]).toBe(20);
    }
    expect(frozen.bodies).toHaveLength(received);
    thaw();
    expect([...(await writes).statuses]).toEqual([200]);
    const posted = [...frozen.bodies, ...other.bodies].filter((body) => body.includes('number'));
    expect(posted).toHaveLength(4);
    await eventually(async () => (await load(10, 1, () => reading(harness))).counts.every(Boolean));
  });

  test('all replicas receive requests while none of them responds', async () => {
    const { replicas, harness } = await start();
    await load(10, 1, () => reading(harness));
    const thawed = replicas.map(({ freeze }) => freeze());
    const received = replicas.map(({ bodies }) => bodies.length);
    const reads: Promise<Response>[] = [];
    await eventually(
      () => {
        reads.push(reading(harness));
        return reads.length > 50;
      },
      { intervalMs: 100 },
    );
    for (const thaw of thawed) thaw();
    for (const answer of await Promise.all(reads)) expect(answer.status).toBe(200);
    replicas.forEach(({ bodies }, index) => {
      expect(bodies.length - (received[index] ?? 0)).toBeGreaterThanOrEqual(25);
    });
  });
});
