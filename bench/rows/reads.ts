/** Reads through the gateway: a route without a query, lists with files and total, searches, and a client's first requests. */
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { connectStack } from '../../scripts/lib/stack-client.mjs';
import { api, expectStatus } from '../../test/e2e/support.ts';
import { SECONDS } from '../config.ts';
import { type Data, PER_PAGE } from '../data.ts';
import { load } from '../load.ts';
import type { Peers } from '../peers/peers.ts';
import type { PocketBase } from '../peers/pocketbase.ts';
import type { Work } from '../race.ts';
import { COMMON_WORDS, draw, RARE_WORD_MATCHES, rareWords } from '../seed-posts.ts';

/** A route without a database command or a call of another service, as a test of this service's costs verifies. */
export const WITHOUT_QUERY = '/cities';
const OWNER = 'gyms';
const DEPTHS = 200;
/** Enough that a page or word rarely repeats before the process has evicted its rows. */
const DRAWN = 20_000;
/** Less than the lifetime of a signed context. */
const DIRECT_SECONDS = Math.min(SECONDS, 6);
const CPU_GOAL_MS = 3;

const product = connectStack();

/** `paths` omit the API's prefix. */
const ofProduct = (paths: readonly string[], token?: string) => () =>
  load({
    origin: product.part('gateway').url,
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

/** Calls the service directly, as the gateway does. */
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
          // Each run has a new signer, because a signer reuses a context for seconds.
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

const FIRST_PAGE = `/posts?per_page=${PER_PAGE}`;

/** Paths by cursor to `count` pages of `perPage` posts, beginning with the first. A cursor works with any page size. */
const cursorPaths = async (count: number, token?: string, perPage = PER_PAGE): Promise<string[]> => {
  const paths: string[] = [];
  for (let cursor = ''; paths.length < count; ) {
    const path = `/posts?per_page=${perPage}${cursor}`;
    const { meta } = expectStatus(await api('GET', path, token === undefined ? {} : { token }), 200).body;
    if (!meta.next_cursor) break;
    cursor = `&cursor=${encodeURIComponent(meta.next_cursor)}`;
    paths.push(`${FIRST_PAGE}${cursor}`);
  }
  return paths;
};

const searchPaths = (words: readonly string[]): string[] =>
  words.map((word) => `/posts?per_page=${PER_PAGE}&search=${encodeURIComponent(word)}`);

const containing = (word: string): string =>
  `filter=${encodeURIComponent(`(title ~ "${word}" || content ~ "${word}")`)}`;

/** `totalCpu` is for rows that are not in the cache. */
const LIST_GOALS = {
  page: { rate: 2, totalCpu: 2.8 },
  rare: { rate: 10, totalCpu: 5 },
  common: { rate: 6, totalCpu: 6 },
};

const list = (
  kind: keyof typeof LIST_GOALS,
  name: string,
  paths: readonly string[],
  { token, peer }: { token?: string | undefined; peer?: Work['peer'] } = {},
): Work => ({
  name,
  run: ofProduct(paths, token),
  peer,
  // Growth has no limit: rows in memory may cost any fraction of the others.
  goals: { ...LIST_GOALS[kind], growth: Number.POSITIVE_INFINITY },
});

const PAGE = '30 posts with files and total';
const COMMON = `search for a common word, ${COMMON_WORDS.length} words`;

/** `count`: number of posts that pages and words are drawn from. */
export const posts = async (reader: string, count: number, peers: Peers): Promise<Work[]> => {
  const depths = Math.min(DEPTHS, Math.floor((count * 0.9) / PER_PAGE));
  const queries = Array.from({ length: depths }, (_, index) => `page=${index + 1}`);
  const words = rareWords(count);
  const works: Work[] = [];
  for (const token of [undefined, reader]) {
    const viewer = token === undefined ? 'guest' : 'signed in';
    const peerOn = (of: readonly string[]) => ({ token, peer: peerOf(peers, of, token !== undefined) });
    const cursors = await cursorPaths(depths, token);
    works.push(
      list('page', `${PAGE}, first page, ${viewer}`, [FIRST_PAGE], peerOn(queries.slice(0, 1))),
      list('page', `${PAGE}, by cursor at ${depths} depths, ${viewer}`, cursors, peerOn(queries)),
    );
  }
  const rare = `search for a word in ${RARE_WORD_MATCHES} posts, ${words.length} words`;
  return [
    ...works,
    list('rare', rare, searchPaths(words), { peer: peerOf(peers, words.map(containing)) }),
    list('common', COMMON, searchPaths(COMMON_WORDS), { peer: peerOf(peers, COMMON_WORDS.map(containing)) }),
  ];
};

/** Pages and words from all `count` posts in random order: with many posts most rows are not in memory. */
export const anywhere = async (reader: string, count: number): Promise<Work[]> => {
  const pages = async (token?: string) => draw(await cursorPaths(count, token, 100), DRAWN);
  const words = draw(searchPaths(rareWords(count)), DRAWN);
  return [
    list('page', `${PAGE}, first page, guest`, [FIRST_PAGE]),
    list('page', `${PAGE}, any page by cursor, guest`, await pages()),
    list('page', `${PAGE}, any page by cursor, signed in`, await pages(reader), { token: reader }),
    list('rare', `search for any word in ${RARE_WORD_MATCHES} posts`, words),
    list('common', COMMON, searchPaths(COMMON_WORDS)),
  ];
};

const opening = ({ reader, buyer }: Data): Work[] => [
  ...['/auth/me', '/payments/balance', '/gyms', '/training-services'].map((path) => ({
    name: `GET ${path}, signed in`,
    run: ofProduct([path], buyer.token),
    goals: { totalCpu: CPU_GOAL_MS },
  })),
  // For a seller, the page shows more details of their own services.
  {
    name: 'GET /training-services, by one of the sellers',
    run: ofProduct(['/training-services'], reader.token),
  },
];

/** Reads other than lists of posts. */
export const otherReads = (data: Data, peers: Peers = {}): Work[] => [
  ...forwarding(data.reader.token, peers),
  direct(peers),
  ...opening(data),
];
