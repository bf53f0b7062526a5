/**
 * Sends files of 25 MiB through the gateway and measures how much resident memory grows. Goals: at most 64 MiB for gateway and media
 * together with a thousand slow readers, and less than 64 MiB for media with ten concurrent uploads, then downloads.
 * The throughput is reported too.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Account, api, expectStatus, register, stack } from '../test/e2e/support.ts';
import { measure, pause, residentMiB, timed } from './figures.ts';

const AT_ONCE = 10;
const MEBIBYTE = 1024 * 1024;
const FILE_BYTES = 25 * MEBIBYTE;
const ROUNDS = 3;
const AT_REST_MS = 2_000;
const SLOW_READERS = 1_000;
const SLOW_GOAL_MIB = 64;
/** Just fast enough that media does not disconnect the reader in favor of others. */
const SLOW_BYTES_PER_S = 32 * 1024;
const SLOW_MS = 20_000;
const OPENED_AT_ONCE = 50;
const WARM_UP = 3_000;

const content = Buffer.alloc(FILE_BYTES, 7);
Buffer.from('%PDF-1.7\n').copy(content);
const file = new Blob([content]);

const base = stack().part('gateway').url;
const account = await register();

const upload = async ({ token }: Account, postId: number): Promise<number> => {
  const form = new FormData();
  form.set('attachable_type', 'App\\Models\\Posts\\Post');
  form.set('attachable_id', String(postId));
  form.set('file', file, 'a.pdf');
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${base}/api/v1/media`, { method: 'POST', headers, body: form });
  if (response.status !== 201) throw new Error(`upload: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: { id: number } }).data.id;
};

/** A post, which can hold ten files. */
const createPost = async ({ id, token }: Account): Promise<number> => {
  const body = { profile_type: 'App\\Models\\User', profile_id: id, title: 'Files', content: 'Files' };
  return expectStatus(await api('POST', '/posts', { token, body }), 201).body.data.id;
};

const download = async (id: number): Promise<void> => {
  const response = await fetch(`${base}/api/v1/media/${id}`);
  let bytes = 0;
  for await (const piece of response.body ?? []) bytes += piece.length;
  if (bytes !== FILE_BYTES) throw new Error(`download: ${response.status}, ${bytes} bytes`);
};

const watched = ['media', 'gateway'].map((name) => {
  const { pid } = stack().part(name);
  return { name, pid, rest: 0, peak: 0 };
});

const increases = (): { name: string; mib: number }[] =>
  watched.map(({ name, rest, peak }) => ({ name, mib: Math.max(0, peak - rest) }));

const listed = (): string =>
  increases()
    .map(({ name, mib }) => `${name} +${mib.toFixed(0)} MiB`)
    .join(', ');

/** Runs `work`, records the peak memory, and returns the duration in milliseconds. */
const sampled = async (work: () => Promise<unknown>): Promise<number> => {
  for (const part of watched) part.peak = 0;
  const sampler = setInterval(() => {
    for (const part of watched) part.peak = Math.max(part.peak, residentMiB(part.pid));
  }, 10);
  const took = await timed(work);
  clearInterval(sampler);
  return took;
};

const watch = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  const speed = (AT_ONCE * FILE_BYTES) / MEBIBYTE / ((await sampled(work)) / 1_000);
  console.log(`${what.padEnd(34)} ${listed()}   ${speed.toFixed(0)} MiB/s`);
};

interface SlowReader {
  socket: Socket;
  /** Undefined until the response headers arrive. */
  status: string | undefined;
  bytes: number;
}

const readSlowly = async (id: number): Promise<SlowReader> => {
  const { hostname, port } = new URL(base);
  const socket = connect({ host: hostname, port: Number(port) });
  const reader: SlowReader = { socket, status: undefined, bytes: 0 };
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET /api/v1/media/${id} HTTP/1.1\r\nhost: bench\r\n\r\n`);
  const reading = setInterval(() => {
    for (let left = SLOW_BYTES_PER_S; left > 0; ) {
      const piece: Buffer | null = socket.read(Math.min(left, socket.readableLength || 1));
      if (piece === null) return;
      reader.status ??= piece.toString('latin1', 9, 12);
      reader.bytes += piece.length;
      left -= piece.length;
    }
  }, 1_000);
  socket.once('close', () => clearInterval(reading));
  return reader;
};

const slowReaders = async (id: number): Promise<void> => {
  const readers: SlowReader[] = [];
  await sampled(async () => {
    await measure(SLOW_READERS, OPENED_AT_ONCE, async () => readers.push(await readSlowly(id)));
    await pause(SLOW_MS);
  });
  const served = readers.filter(({ socket, status }) => status === '200' && !socket.destroyed);
  const perS = served.reduce((sum, { bytes }) => sum + bytes, 0) / served.length / (SLOW_MS / 1_000);
  const statuses = Map.groupBy(readers, ({ status }) => status ?? 'none');
  const counts = [...statuses].map(([status, some]) => `${some.length} × ${status}`).join(', ');
  const total = increases().reduce((sum, { mib }) => sum + mib, 0);
  console.log(
    `${SLOW_READERS} slow readers: ${counts}; ${served.length} still served, at ${(perS / 1024).toFixed(0)} KiB/s each\n` +
      `  ${listed()}, together +${total.toFixed(0)} MiB (goal: at most ${SLOW_GOAL_MIB}${total <= SLOW_GOAL_MIB ? '' : ', MISSED'})`,
  );
  for (const { socket } of readers) socket.destroy();
};

// Warm-up: compiling code and opening connections must not be measured.
const fileId = await upload(account, await createPost(account));
await download(fileId);
await measure(WARM_UP, OPENED_AT_ONCE, async () => {
  const response = await fetch(`${base}/api/v1/media/${fileId}`, { headers: { range: 'bytes=0-1023' } });
  if (response.status !== 206) throw new Error(`a range: ${response.status}`);
  await response.arrayBuffer();
});
await pause(AT_REST_MS);
for (const part of watched) part.rest = residentMiB(part.pid);
console.log(watched.map(({ name, rest }) => `${name} at rest ${rest.toFixed(0)} MiB`).join(', '));
await slowReaders(fileId);
for (let round = 1; round <= ROUNDS; round += 1) {
  let ids: number[] = [];
  const postId = await createPost(account);
  await watch(`${AT_ONCE} uploads of 25 MiB at once`, async () => {
    ids = await Promise.all(Array.from({ length: AT_ONCE }, () => upload(account, postId)));
  });
  await watch(`${AT_ONCE} downloads of 25 MiB at once`, () => Promise.all(ids.map(download)));
}
