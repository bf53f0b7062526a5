/**
 * The list of posts through the gateway, with 200,000 posts: the first page, the page after a cursor at depth 5,000, and
 * a search for three letters that 50 posts contain; each compared with the first page of a collection of 1,000 posts.
 * One content service alternates between the two collections, so that both see the same load of the machine. Goals, as
 * a ratio of p50: at most 1.5 for the pages, at most 3 for the search.
 */
import { api, expectStatus, stack } from '../test/e2e/support.ts';
import { measure, ms, quantile, timed } from './figures.ts';
import { openPostSeeder } from './seed-posts.ts';

const POSTS = 200_000;
const FEW_POSTS = 1_000;
const DEPTH = 5_000;
const FOUND = 50;
const NEEDLE = 'qxz';
const PER_PAGE = 30;
const ROUNDS = 3;
const REQUESTS = 200;
const WARM_UP = 60;
const AT_ONCE = 4;
const USER_IDS = Array.from({ length: 40 }, (_, index) => index + 1);

const product = stack();
const { servers } = product.describe();
const databases = { few: 'bench_posts_few', many: 'bench_posts_many' } as const;

/** Restarts content over another database, and waits until its indexes exist. */
const contentOver = (MONGODB_DATABASE?: string): Promise<void> =>
  product.restart('content', MONGODB_DATABASE === undefined ? {} : { MONGODB_DATABASE });

const seed = async (database: string, posts: number): Promise<void> => {
  await contentOver(database);
  const seeder = await openPostSeeder(servers.MONGODB_URI, database, {
    userIds: USER_IDS,
    needle: NEEDLE,
    needleEvery: posts / FOUND,
  });
  const took = await timed(() => seeder.upTo(posts));
  await seeder.close();
  console.log(`${posts} posts written in ${(took / 1_000).toFixed(0)} s`);
};

interface Run {
  times: number[];
  seconds: number;
}

/** Measures a path; every answer must hold `rows` posts. */
const ask = async (path: string, rows: number): Promise<Run> => {
  const once = async () => {
    const { body } = expectStatus(await api('GET', path), 200);
    if (body.data.length !== rows) throw new Error(`${path} holds ${body.data.length} posts, not ${rows}`);
  };
  await measure(WARM_UP, AT_ONCE, once);
  let times: number[] = [];
  const took = await timed(async () => {
    times = await measure(REQUESTS, AT_ONCE, once);
  });
  return { times, seconds: took / 1_000 };
};

await seed(databases.few, FEW_POSTS);
await seed(databases.many, POSTS);
const deepPage = expectStatus(await api('GET', `/posts?per_page=100&page=${DEPTH / 100}`), 200).body;
const search = expectStatus(await api('GET', `/posts?search=${NEEDLE}`), 200).body;
if (search.meta.total !== FOUND) throw new Error(`${search.meta.total} posts hold ${NEEDLE}, not ${FOUND}`);

const few = 'first page of 1,000';
const paths = {
  'first page': { path: '/posts', goal: 1.5 },
  'page by cursor at depth 5,000': { path: `/posts?cursor=${deepPage.meta.next_cursor}`, goal: 1.5 },
  'search that 50 posts match': { path: `/posts?search=${NEEDLE}`, goal: 3 },
  'search for two letters that most posts contain': { path: '/posts?search=st', goal: undefined },
  'first page of the blog': { path: '/posts?in_blog=true', goal: undefined },
  'first page of one profile': {
    path: `/posts?type=${encodeURIComponent('App\\Models\\User')}&item_id=7`,
    goal: undefined,
  },
};
const runs = new Map<string, Run[]>();
const add = (name: string, run: Run) => runs.set(name, [...(runs.get(name) ?? []), run]);
for (let round = 0; round < ROUNDS; round += 1) {
  await contentOver(databases.few);
  add(few, await ask('/posts', PER_PAGE));
  await contentOver(databases.many);
  for (const [name, { path }] of Object.entries(paths)) add(name, await ask(path, PER_PAGE));
}
await contentOver();

const figuresOf = (name: string) => {
  const all = runs.get(name) ?? [];
  const times = all.flatMap((run) => run.times);
  const seconds = all.reduce((sum, run) => sum + run.seconds, 0);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), rate: times.length / seconds };
};
const base = figuresOf(few);
const line = (name: string, { p50, p99, rate }: typeof base): string =>
  `${name.padEnd(48)} p50 ${ms(p50).padStart(9)}   p99 ${ms(p99).padStart(9)}   ${rate.toFixed(0).padStart(5)}/s`;

console.log(`${ROUNDS} rounds of ${REQUESTS} requests, ${AT_ONCE} at once; ratios to the ${few}`);
console.log(line(few, base));
for (const [name, { goal }] of Object.entries(paths)) {
  const figures = figuresOf(name);
  const ratio = figures.p50 / base.p50;
  const ratios = `× ${ratio.toFixed(2)}, ${(figures.p99 / base.p99).toFixed(2)}, ${(base.rate / figures.rate).toFixed(2)}`;
  const verdict = goal === undefined ? '' : `  (goal: ${goal} or less${ratio <= goal ? '' : ', MISSED'})`;
  console.log(`${line(name, figures)}   ${ratios}${verdict}`);
}
