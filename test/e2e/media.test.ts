/** Files as clients see them, through the gateway. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { type Account, api, baseUrl, expectStatus, PNG, register, stack } from './support.ts';

const createPost = async ({ id, token }: Account): Promise<number> => {
  const body = { profile_type: MODEL.user, profile_id: id, title: 'Files', content: 'Files' };
  return expectStatus(await api('POST', '/posts', { token, body }), 201).body.data.id;
};

const upload = async ({ token }: Account, postId: number): Promise<number> => {
  const form = new FormData();
  form.set('attachable_type', MODEL.post);
  form.set('attachable_id', String(postId));
  form.set('file', new Blob([PNG]), 'a.png');
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${baseUrl()}/api/v1/media`, { method: 'POST', headers, body: form });
  if (response.status !== 201) throw new Error(`upload: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: { id: number } }).data.id;
};

/** Stores copies of a file's row directly, as an older release without a limit could. */
const storeCopies = async (mediaId: number, count: number): Promise<void> => {
  const client = await new MongoClient(stack().describe().servers.MONGODB_URI).connect();
  try {
    const database = client.db(stack().part('media').environment.MONGODB_DATABASE);
    const rows = database.collection<{ _id: number }>('media');
    const row = await rows.findOne({ _id: mediaId });
    const copies = Array.from({ length: count }, (_, n) => ({
      ...row,
      _id: 1_000_000_000 + n,
      storage_key: `copy-${n}`,
      filename: `${'💪'.repeat(196)}.png`,
    }));
    await rows.insertMany(copies);
  } finally {
    await client.close();
  }
};

test('a post with 1,250 files does not hide the files of the other posts on its page', async () => {
  const account = await register();
  const posts = [];
  for (let n = 0; n < 4; n += 1) posts.push(await createPost(account));
  const files = new Map<number, number[]>();
  for (const post of posts) files.set(post, [await upload(account, post), await upload(account, post)]);
  const [crowded = 0, ...others] = posts;
  const [remaining = 0, removed = 0] = files.get(crowded) ?? [];
  await storeCopies(remaining, 1_250);
  // The next change makes content read the rows.
  expectStatus(await api('DELETE', `/media/${removed}`, { token: account.token }), 204);
  const list = `/posts?type=${encodeURIComponent('App\\Models\\User')}&item_id=${account.id}`;
  const { data } = expectStatus(await api('GET', list, { token: account.token }), 200).body;
  const shown = new Map<number, number[]>(
    data.map(({ id, media }: { id: number; media: { id: number }[] }) => [id, media.map((file) => file.id)]),
  );
  expect(others.map((id) => shown.get(id))).toEqual(others.map((id) => files.get(id)));
  expect(shown.get(crowded)).toHaveLength(10);
});
