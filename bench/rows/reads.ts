/** Reads through the gateway: a route without a query, lists with files and total, searches, and a client's first requests. */
import { api, expectStatus } from '../../test/e2e/support.ts';
import { type Data, PER_PAGE } from '../data.ts';
import { load } from '../load.ts';
import type { Work } from '../measure.ts';
import type { Peers } from '../peers/peers.ts';
import { product } from '../product.ts';
import { COMMON_WORDS, draw, RARE_WORD_MATCHES, rareWords } from '../seed-posts.ts';

/** A route without a database command or a call of another service, as a test of this service's costs verifies. */
export const WITHOUT_QUERY = '/cities';
/** Enough that a page or word rarely repeats before the process has evicted its rows. */
const DRAWN = 20_000;
const CPU_GOAL_MS = 3;

const bearer = (token?: string): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/** `paths` omit the API's prefix. */
const ofProduct = (paths: readonly string[], token?: string) => () =>
  load({
    origin: product.part('gateway').url,
    paths: paths.map((path) => `/api/v1${path}`),
    headers: bearer(token),
  });

const forwarding = (token: string, { fastify }: Peers): Work[] => {
  const peer = fastify && {
    name: '@fastify/http-proxy with JWT and limit',
    run: () => load({ origin: fastify.origin, paths: ['/page'], headers: bearer(fastify.token) }),
  };
  const rows = [
    { viewer: 'guest', token: undefined, goals: { rate: 0.35, cpu: { gateway: 0.15, gyms: 0.12 } } },
    { viewer: 'signed in', token, goals: { rate: 0.25, cpu: { gateway: 0.2 } } },
  ];
  return rows.map(({ viewer, token, goals }) => ({
    name: `trivial read, ${viewer}`,
    run: ofProduct([WITHOUT_QUERY], token),
    peer,
    goals,
  }));
};

const peerOf = ({ pocketBase }: Peers, queries: readonly string[], isSignedIn = false): Work['peer'] =>
  pocketBase && {
    name: 'PocketBase',
    run: () =>
      load({
        origin: pocketBase.origin,
        paths: queries.map(
          (query) => `/api/collections/posts/records?perPage=${PER_PAGE}&sort=-created&${query}`,
        ),
        headers: isSignedIn ? { authorization: pocketBase.token } : {},
      }),
  };

const FIRST_PAGE = `/posts?per_page=${PER_PAGE}`;

/** A path by cursor to every page of a hundred posts. The cursor works with any page size. */
const cursorPaths = async (token?: string): Promise<string[]> => {
  const paths: string[] = [];
  for (let cursor = ''; ; ) {
    const path = `/posts?per_page=100${cursor}`;
    const { meta } = expectStatus(await api('GET', path, { token }), 200).body;
    if (!meta.next_cursor) return paths;
    cursor = `&cursor=${encodeURIComponent(meta.next_cursor)}`;
    paths.push(`${FIRST_PAGE}${cursor}`);
  }
};

const searchPaths = (words: readonly string[]): string[] =>
  words.map((word) => `${FIRST_PAGE}&search=${encodeURIComponent(word)}`);

const containing = (word: string): string =>
  `filter=${encodeURIComponent(`(title ~ "${word}" || content ~ "${word}")`)}`;

/** The goals for the CPU are for rows that are not in memory. */
const LIST_GOALS = {
  page: { rate: 2, totalCpu: 2.8 },
  rare: { rate: 10, totalCpu: 5 },
  common: { rate: 6, totalCpu: 6 },
};

/**
 * `count`: the number of posts. Pages and words are drawn from all of them in random order: with many posts most rows are not in
 * memory.
 */
export const posts = async (reader: string, count: number, peers: Peers = {}): Promise<Work[]> => {
  const list = (
    kind: keyof typeof LIST_GOALS,
    name: string,
    [paths, queries]: [ours: readonly string[], peers: readonly string[]],
    token?: string,
  ): Work => ({
    name: token === undefined ? `${name}, guest` : `${name}, signed in`,
    run: ofProduct(paths, token),
    peer: peerOf(peers, queries, token !== undefined),
    goals: LIST_GOALS[kind],
  });
  const page = '30 posts with files and total';
  const words = draw(rareWords(count), DRAWN);
  const works: Work[] = [];
  for (const token of [undefined, reader]) {
    const cursors = await cursorPaths(token);
    // The peer reads pages of the same depths.
    const pages = cursors.map((_, index) => `page=${Math.floor(((index + 1) * 100) / PER_PAGE) + 1}`);
    works.push(
      list('page', `${page}, first page`, [[FIRST_PAGE], ['page=1']], token),
      list('page', `${page}, any page by cursor`, [draw(cursors, DRAWN), draw(pages, DRAWN)], token),
    );
  }
  const rare = `search for any word in ${RARE_WORD_MATCHES} posts`;
  const common = `search for a common word, ${COMMON_WORDS.length} words`;
  return [
    ...works,
    list('rare', rare, [searchPaths(words), words.map(containing)]),
    list('common', common, [searchPaths(COMMON_WORDS), COMMON_WORDS.map(containing)]),
  ];
};

/** Reads other than lists of posts. */
export const otherReads = ({ reader, buyer }: Data, peers: Peers = {}): Work[] => [
  ...forwarding(reader.token, peers),
  ...['/auth/me', '/payments/balance', '/gyms', '/training-services'].map((path) => ({
    name: `GET ${path}, signed in`,
    run: ofProduct([path], buyer.token),
    goals: { totalCpu: CPU_GOAL_MS },
  })),
];
