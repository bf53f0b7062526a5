/** Prepares the peers of `npm run bench -- requests`, and asks each of them once. */
import { startPeers } from './peers/peers.ts';
import { COMMON_WORDS, rareWords } from './seed-posts.ts';

const POSTS = 1_000;
const { fastify, pocketBase, skipped, stop } = await startPeers({
  answer: '{"data":[]}',
  posts: POSTS,
  userIds: [1, 2],
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
  for (const word of [rareWords(POSTS)[0], COMMON_WORDS[0]])
    await ask(
      `PocketBase, posts with ${word}`,
      `${list}&fields=id&filter=${encodeURIComponent(`content ~ "${word}"`)}`,
    );
}
for (const reason of skipped) console.log(`Skipped: ${reason}`);
stop();
