/** Prepares the peers of `npm run bench -- requests`, and asks each of them once. */
import { COMMON_WORD, NEEDLE, NEEDLE_MATCHES } from './data.ts';
import { startPeers } from './peers/peers.ts';

const POSTS = 1_000;
const seed = {
  userIds: [1, 2],
  needle: NEEDLE,
  needleEvery: POSTS / NEEDLE_MATCHES,
  needles: NEEDLE_MATCHES,
};
const { fastify, pocketBase, skipped, stop } = await startPeers({
  answer: '{"data":[]}',
  posts: POSTS,
  seed,
});

const ask = async (what: string, url: string, authorization?: string): Promise<void> => {
  const response = await fetch(url, { headers: authorization === undefined ? {} : { authorization } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${what}: ${response.status} ${text}`);
  console.log(`${what}: ${text.slice(0, 120)}`);
};

if (fastify !== undefined) {
  await ask('bare Fastify', `${fastify.page.origin}/serialized`);
  await ask('@fastify/http-proxy', `${fastify.proxy.origin}/page`, `Bearer ${fastify.proxy.token}`);
  const refused = await fetch(`${fastify.proxy.origin}/page`);
  if (refused.status !== 401) throw new Error(`the proxy answers ${refused.status} without a token`);
}
if (pocketBase !== undefined) {
  const list = `${pocketBase.origin}/api/collections/posts/records?perPage=1&sort=-created`;
  await ask('PocketBase', list, pocketBase.token);
  for (const word of [NEEDLE, COMMON_WORD])
    await ask(
      `PocketBase, posts with ${word}`,
      `${list}&fields=id&filter=${encodeURIComponent(`content ~ "${word}"`)}`,
    );
}
for (const reason of skipped) console.log(`Skipped: ${reason}`);
stop();
