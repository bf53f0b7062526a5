/**
 * Ten concurrent uploads, then downloads, of 25 MiB through the gateway: the increase of resident memory of the gateway
 * and the media service (goal: less than 64 MiB for media), and the throughput.
 */
import { type Account, api, expectStatus, register, stack } from '../test/e2e/support.ts';
import { pause, residentMiB, timed } from './figures.ts';

const AT_ONCE = 10;
const MEBIBYTE = 1024 * 1024;
const FILE_BYTES = 25 * MEBIBYTE;
const ROUNDS = 3;
const AT_REST_MS = 2_000;

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

/** A post takes ten files. */
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

/** Runs `work` and prints its peak memory and throughput. */
const watch = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  for (const part of watched) part.peak = 0;
  const sampler = setInterval(() => {
    for (const part of watched) part.peak = Math.max(part.peak, residentMiB(part.pid));
  }, 10);
  const took = await timed(work);
  clearInterval(sampler);
  const speed = (AT_ONCE * FILE_BYTES) / MEBIBYTE / (took / 1_000);
  const more = watched.map(({ name, rest, peak }) => `${name} +${Math.max(0, peak - rest).toFixed(0)} MiB`);
  console.log(`${what.padEnd(34)} ${more.join(', ')}   ${speed.toFixed(0)} MiB/s`);
};

// Warm-up: compiled code and open connections are not part of the measurement.
await download(await upload(account, await createPost(account)));
await pause(AT_REST_MS);
for (const part of watched) part.rest = residentMiB(part.pid);
console.log(watched.map(({ name, rest }) => `${name} at rest ${rest.toFixed(0)} MiB`).join(', '));
for (let round = 1; round <= ROUNDS; round += 1) {
  let ids: number[] = [];
  const postId = await createPost(account);
  await watch(`${AT_ONCE} uploads of 25 MiB at once`, async () => {
    ids = await Promise.all(Array.from({ length: AT_ONCE }, () => upload(account, postId)));
  });
  await watch(`${AT_ONCE} downloads of 25 MiB at once`, () => Promise.all(ids.map(download)));
}
