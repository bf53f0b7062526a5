/**
 * Measures ordinary requests through the gateway, first without other load, then under stress. The stress is 2,000
 * stalled uploads, 2,000 stalled sign-ins and 200 slow downloads of 20 MiB. Fails if the p99 at least doubles.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Account, api, expectStatus, register, stack } from '../test/e2e/support.ts';
import { measure, ms, pause, quantile } from './figures.ts';

const UPLOADS = 2_000;
/** Together these users take every upload slot, which one user cannot. */
const UPLOADERS = 64;
/** More than the gateway's limit for request bodies being received. */
const LOGINS = 2_000;
const DOWNLOADS = 200;
const FILE_BYTES = 20 * 1024 * 1024;
const REQUESTS = 3_000;
const AT_ONCE = 8;
const READ_EVERY_MS = 1_000;
const OPENED_AT_ONCE = 100;

const base = new URL(stack().part('gateway').url);
const account = await register();
const { token } = account;

const uploadFile = async (): Promise<number> => {
  const form = new FormData();
  form.set('attachable_type', 'App\\Models\\User');
  form.set('attachable_id', String(account.id));
  const content = Buffer.alloc(FILE_BYTES, 7);
  content.write('%PDF-1.7\n');
  form.set('file', new Blob([content]), 'a.pdf');
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${base.origin}/api/v1/media`, { method: 'POST', headers, body: form });
  if (response.status !== 201) throw new Error(`upload: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: { id: number } }).data.id;
};

const sockets: Socket[] = [];
const open = async (head: string): Promise<Socket> => {
  const socket = connect({ host: base.hostname, port: Number(base.port) });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(head);
  return socket;
};

const stalledUpload = async (index: number): Promise<Socket> => {
  const lines = [
    'POST /api/v1/media HTTP/1.1',
    'host: bench',
    `authorization: Bearer ${uploaders[index % UPLOADERS]?.token}`,
    'content-type: multipart/form-data; boundary=x',
    'content-length: 1000000',
    '',
    '--x\r\n',
  ];
  return (await open(lines.join('\r\n'))).resume();
};

const stalledLogin = async (): Promise<Socket> => {
  const lines = [
    'POST /api/v1/auth/login HTTP/1.1',
    'host: bench',
    'content-type: application/json',
    'content-length: 300',
    '',
    '{',
  ];
  return (await open(lines.join('\r\n'))).resume();
};

const slowDownload = async (id: number): Promise<void> => {
  const socket = await open(`GET /api/v1/media/${id} HTTP/1.1\r\nhost: bench\r\n\r\n`);
  const reading = setInterval(() => socket.read(16_384), READ_EVERY_MS);
  socket.once('close', () => clearInterval(reading));
};

const paths = ['/auth/me', '/posts', '/gyms', '/payments', '/notifications'];
const request = async (index: number): Promise<void> => {
  expectStatus(await api('GET', paths[index % paths.length] ?? '', { token }), 200);
};

const report = (what: string, times: number[]): number => {
  const p99 = quantile(times, 0.99);
  console.log(`${what.padEnd(48)} p50 ${ms(quantile(times, 0.5)).padStart(9)}   p99 ${ms(p99).padStart(9)}`);
  return p99;
};

const uploaders: Account[] = [];
for (let index = 0; index < UPLOADERS; index += 1) uploaders.push(await register());
const fileId = await uploadFile();
// Compiles the code and opens connections before the measurement.
await measure(REQUESTS, AT_ONCE, request);
const before = report('without other load', await measure(REQUESTS, AT_ONCE, request));
await measure(DOWNLOADS, OPENED_AT_ONCE, () => slowDownload(fileId));
await measure(UPLOADS, OPENED_AT_ONCE, stalledUpload);
await measure(LOGINS, OPENED_AT_ONCE, stalledLogin);
await pause(READ_EVERY_MS);
const openNow = sockets.filter(({ destroyed }) => !destroyed).length;
const during = report(`with ${openNow} stalled connections`, await measure(REQUESTS, AT_ONCE, request));
for (const socket of sockets) socket.destroy();
console.log(`the p99 is multiplied by ${(during / before).toFixed(2)} (goal: less than 2)`);
if (during >= 2 * before) throw new Error('the goal is missed');
