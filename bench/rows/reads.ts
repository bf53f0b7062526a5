/** Reads through the gateway: a route without a query, lists with files and total, searches, and what a client opens with. */
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { openCallerSigner } from '@fitness/shared/runtime/open-caller-signer.ts';
import { connectStack } from '../../scripts/lib/stack-client.mjs';
import { api, expectStatus } from '../../test/e2e/support.ts';
import { SECONDS } from '../config.ts';
import { type Data, PER_PAGE } from '../data.ts';
import { load } from '../load.ts';
import type { FastifyPeers } from '../peers/fastify.ts';
import type { PocketBase } from '../peers/pocketbase.ts';
import type { Work } from '../race.ts';
import type { Replica } from '../replica.ts';
import { COMMON_WORDS, draw, RARE_WORD_MATCHES, rareWords } from '../seed-posts.ts';

/** No command of the database, no call of another service; a test of the costs of this service demands it. */
export const WITHOUT_QUERY = '/cities';
const OWNER = 'gyms';
const PAGES = 200;
/** So many that a page or word seldom comes again before the process forgets its rows. */
const DRAWN = 20_000;
/** A page by a cursor of this depth; the largest page has a hundred rows. */
const CURSOR_DEPTH = 500;
/** Less than the lifetime of a signed context. */
const DIRECT_SECONDS = Math.min(SECONDS, 6);
const CPU_GOAL_MS = 3;

interface Peers {
  fastify: FastifyPeers | undefined;
  pocketBase: PocketBase | undefined;
}

const product = connectStack();

/** Paths are below the API's prefix. */
const ofProduct = (paths: readonly string[], token?: string) =>
  ofGateway(product.part('gateway').url, paths, token);

const ofGateway = (origin: string, paths: readonly string[], token?: string) => () =>
  load({
    origin,
    paths: paths.map((path) => `/api/v1${path}`),
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
  });

const proxyPeer = ({ fastify }: Peers): Work['peer'] =>
  fastify && {
    name: '@fastify/http-proxy with JWT and limit',
    pid: fastify.proxy.pid,
    run: () =>
      load({
        origin: fastify.proxy.origin,
        paths: ['/page'],
        headers: { authorization: `Bearer ${fastify.proxy.token}` },
      }),
  };

const forwarding = (token: string, peers: Peers): Work[] => {
  const peer = proxyPeer(peers);
  const paths = [WITHOUT_QUERY];
  return [
    {
      name: 'trivial read, guest',
      run: ofProduct(paths),
      peer,
      goals: { rate: 0.35, cpu: ['gateway', 0.15] },
    },
    {
      name: 'trivial read, signed in',
      run: ofProduct(paths, token),
      peer,
      goals: { rate: 0.25, cpu: ['gateway', 0.2] },
    },
  ];
};

/** As the gateway calls it. */
const direct = ({ fastify }: Peers): Work => {
  const { environment } = product.part('gateway');
  const log = createLog({ service: 'bench', level: 'warn' });
  return {
    name: 'trivial read at the service',
    run: () =>
      load({
        origin: product.part(OWNER).url,
        paths: [`/api/v1${WITHOUT_QUERY}`],
        headers: {
          // A signer of its own for each run: one signs anew only after seconds.
          'x-caller-context': openCallerSigner('gateway', environment as never, log).sign(OWNER, GUEST),
        },
        seconds: DIRECT_SECONDS,
      }),
    peer: fastify && {
      name: 'bare Fastify',
      pid: fastify.page.pid,
      run: () => load({ origin: fastify.page.origin, paths: ['/serialized'], seconds: DIRECT_SECONDS }),
    },
    goals: { cpu: [OWNER, 0.12] },
  };
};

/** Through a gateway that keeps what guests may share for a second, of which the posts are no part (docs/adr/0072). */
const cached = (count: number, peers: Peers, gateway: Replica): Work[] => {
  const withCache = (name: string, paths: readonly string[], peer: Work['peer']): Work => ({
    name: `${name}, guest, with the cache for guests`,
    run: ofGateway(gateway.origin, paths),
    peer,
    replicas: [gateway],
  });
  return [
    withCache('trivial read', [WITHOUT_QUERY], proxyPeer(peers)),
    withCache(
      `30 posts with files and total, ${pagesOf(count)} pages`,
      postPaths(count),
      peerOf(peers, postQueries(count)),
    ),
  ];
};

const pocketBaseRun = (pocketBase: PocketBase, queries: readonly string[], token?: string) => () =>
  load({
    origin: pocketBase.origin,
    paths: queries.map(
      (query) => `/api/collections/posts/records?perPage=${PER_PAGE}&sort=-created&${query}`,
    ),
    ...(token === undefined ? {} : { headers: { authorization: token } }),
  });

const peerOf = ({ pocketBase }: Peers, queries: readonly string[], isSignedIn = false): Work['peer'] =>
  pocketBase && {
    name: 'PocketBase',
    run: pocketBaseRun(pocketBase, queries, isSignedIn ? pocketBase.token : undefined),
  };

const pages = (count: number, of: (page: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => of(index + 1));

/** How many of `count` posts are requested. */
const pagesOf = (count: number): number => Math.min(PAGES, Math.floor((count * 0.9) / PER_PAGE));
const postPaths = (count: number): string[] =>
  pages(pagesOf(count), (page) => `/posts?per_page=${PER_PAGE}&page=${page}`);
const postQueries = (count: number): string[] => pages(pagesOf(count), (page) => `page=${page}`);

const searchPaths = (words: readonly string[]): string[] =>
  words.map((word) => `/posts?per_page=${PER_PAGE}&search=${encodeURIComponent(word)}`);

const containing = (word: string): string =>
  `filter=${encodeURIComponent(`(title ~ "${word}" || content ~ "${word}")`)}`;

/** `count`: of the posts that the pages and words are of. */
const posts = (token: string, count: number, peers: Peers): Work[] => {
  const paths = postPaths(count);
  const queries = postQueries(count);
  const list = `30 posts with files and total, ${pagesOf(count)} pages`;
  const words = rareWords(count);
  return [
    {
      name: `${list}, guest`,
      run: ofProduct(paths),
      peer: peerOf(peers, queries),
      goals: { rate: 1, totalCpu: CPU_GOAL_MS },
    },
    {
      name: `${list}, signed in`,
      run: ofProduct(paths, token),
      peer: peerOf(peers, queries, true),
      goals: { rate: 1, totalCpu: CPU_GOAL_MS },
    },
    {
      name: `search for a word in ${RARE_WORD_MATCHES} posts, ${words.length} words`,
      run: ofProduct(searchPaths(words)),
      peer: peerOf(peers, words.map(containing)),
      goals: { rate: 3 },
    },
    {
      name: `search for a common word, ${COMMON_WORDS.length} words`,
      run: ofProduct(searchPaths(COMMON_WORDS)),
      peer: peerOf(peers, COMMON_WORDS.map(containing)),
      goals: { rate: 1.5 },
    },
  ];
};

/** Pages and words of all `count` posts, without a pattern: with many posts most rows are not in memory. */
export const anywhere = (count: number): Work[] => [
  {
    name: '30 posts with files and total, any page, guest',
    run: ofProduct(
      draw(
        pages(Math.floor((count * 0.9) / PER_PAGE), (page) => `/posts?per_page=${PER_PAGE}&page=${page}`),
        DRAWN,
      ),
    ),
  },
  {
    name: `search for a word in ${RARE_WORD_MATCHES} posts, any word`,
    run: ofProduct(draw(searchPaths(rareWords(count)), DRAWN)),
  },
];

const opening = ({ reader, buyer }: Data): Work[] => [
  ...['/auth/me', '/payments/balance', '/gyms', '/training-services'].map((path) => ({
    name: `GET ${path}, signed in`,
    run: ofProduct([path], buyer.token),
    goals: { totalCpu: CPU_GOAL_MS },
  })),
  // The page shows them more of themselves than others see.
  {
    name: 'GET /training-services, by one of the sellers',
    run: ofProduct(['/training-services'], reader.token),
  },
];

const pageByCursor = async (): Promise<Work> => {
  const deep = `/posts?per_page=100&page=${CURSOR_DEPTH / 100}`;
  const { meta } = expectStatus(await api('GET', deep), 200).body;
  return {
    name: `page of 30 posts by a cursor at depth ${CURSOR_DEPTH}`,
    run: ofProduct([`/posts?per_page=${PER_PAGE}&cursor=${meta.next_cursor}`]),
  };
};

/** `count`: of posts. `cachingGateway`: a process of its own. */
export const reads = async (
  data: Data,
  count: number,
  peers: Peers,
  cachingGateway?: Replica,
): Promise<Work[]> => [
  ...forwarding(data.reader.token, peers),
  direct(peers),
  ...posts(data.reader.token, count, peers),
  ...(cachingGateway === undefined ? [] : cached(count, peers, cachingGateway)),
  await pageByCursor(),
  ...opening(data),
];
