/**
 * The time of the referral score of trees of a million users, compared with one pass over the same tree in memory, and
 * its additional memory. Goal: less than 300 MiB. Each computation runs in its own process.
 */
import { execFileSync } from 'node:child_process';
import { systemClock, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { connectRedis } from '@fitness/shared/runtime/redis.ts';
import { testServers } from '@fitness/shared/testing/harness.ts';
import { nodeFlags } from '../scripts/lib/node-flags.mjs';
import { createReferralsReader } from '../services/identity/src/app/accounts/referrals-reader.ts';
import { createScoreLocks } from '../services/identity/src/clients/score-locks.ts';
import { createStore } from '../services/identity/src/store/store.ts';
import { ms, quantile, timed } from './figures.ts';

const USERS = 1_000_000;
const STARS = 100;
const PER_INSERT = 10_000;
const MIB = 1024 ** 2;

interface Tree {
  name: string;
  /** The id of the root, whose score is computed. The other users have the following ids. */
  root: number;
  referrerOf: (place: number) => number;
  hasReferrals: (place: number) => boolean;
}

const perStar = Math.floor((USERS - 1) / STARS);
const TREES: readonly Tree[] = [
  {
    // Every level counts. The first user of each star refers the next star.
    name: `a chain of ${STARS} stars of ${perStar}`,
    root: 1,
    referrerOf: (place) => {
      const star = Math.floor((place - 1) / perStar);
      return star === 0 ? 0 : (star - 1) * perStar + 1;
    },
    hasReferrals: (place) => place === 0 || ((place - 1) % perStar === 0 && place + perStar < USERS),
  },
  {
    name: `a chain ${USERS - 1} deep`,
    root: 10_000_001,
    referrerOf: (place) => place - 1,
    hasReferrals: (place) => place < USERS - 1,
  },
  {
    // The largest possible number of users with referrals on one level: half of all.
    name: `${USERS / 2 - 1} who have referred one each`,
    root: 20_000_001,
    referrerOf: (place) => (place < USERS / 2 ? 0 : place - USERS / 2),
    hasReferrals: (place) => place < USERS / 2,
  },
];

const servers = testServers();
const log = createLog({ service: 'bench', level: 'silent' });
const connection = await connectMongo({ uri: servers.MONGODB_URI, database: 'bench_referrals' });

const insertTree = async ({ root, referrerOf, hasReferrals }: Tree): Promise<void> => {
  const users = connection.collection('users');
  for (let from = 0; from < USERS; from += PER_INSERT) {
    const rows = Array.from({ length: Math.min(PER_INSERT, USERS - from) }, (_, index) => {
      const place = from + index;
      const referrer = place === 0 ? null : root + referrerOf(place);
      return {
        _id: root + place,
        referrer_user_id: referrer,
        has_referrals: hasReferrals(place),
        erased_at: null,
      };
    });
    await users.insertMany(rows as never[], { ordered: false });
  }
};

/** The same tree in memory: an index from referrer to referrals is built and traversed once, level by level. */
const plainPass = ({ referrerOf }: Tree): { score: number; passMs: number } => {
  const referrers = Int32Array.from({ length: USERS }, (_, place) => (place === 0 ? -1 : referrerOf(place)));
  const startedAt = performance.now();
  const children = new Map<number, number[]>();
  for (let place = 1; place < USERS; place += 1) {
    const referrer = referrers[place] ?? 0;
    const siblings = children.get(referrer);
    if (siblings === undefined) children.set(referrer, [place]);
    else siblings.push(place);
  }
  const sizes: number[] = [];
  let level = [0];
  while (level.length > 0) {
    const next: number[] = [];
    for (const place of level) for (const child of children.get(place) ?? []) next.push(child);
    if (next.length > 0) sizes.push(next.length);
    level = next;
  }
  const score = sizes.reduceRight((below, size) => size + below / 2, 0);
  return { score, passMs: performance.now() - startedAt };
};

interface Computed {
  score: number;
  coldMs: number;
  cachedMs: number;
  atRestMiB: number;
  peakMiB: number;
}

/** Nothing is revoked here. */
const noEpochs = { close: async () => undefined, advance: async () => undefined };

/** Computes the score in this process, as identity does for a request. */
const compute = async (root: number): Promise<Computed> => {
  const redis = await connectRedis({ url: servers.REDIS_URL });
  const reader = createReferralsReader({
    store: createStore(connection, log, noEpochs),
    scoreLocks: createScoreLocks(redis, { keyPrefix: 'bench', random: systemRandom, log }),
    clock: systemClock,
  });
  await reader.read([root - 1]);
  const atRest = process.memoryUsage().rss;
  let peak = atRest;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 5);
  let score = 0;
  const ask = async (): Promise<void> => {
    score = (await reader.read([root])).get(root)?.score ?? 0;
  };
  const coldMs = await timed(ask);
  const cachedMs = await timed(ask);
  clearInterval(watch);
  redis.disconnect();
  return {
    score,
    coldMs,
    cachedMs,
    atRestMiB: atRest / MIB,
    peakMiB: Math.max(peak, process.memoryUsage().rss) / MIB,
  };
};

const inOwnProcess = (root: number): Computed =>
  JSON.parse(
    execFileSync(process.execPath, [...process.execArgv, ...nodeFlags, import.meta.filename, String(root)], {
      encoding: 'utf8',
    }),
  );

const report = async (tree: Tree): Promise<void> => {
  await insertTree(tree);
  const passes = Array.from({ length: 5 }, () => plainPass(tree));
  const passMs = quantile(
    passes.map((pass) => pass.passMs),
    0.5,
  );
  const { score, coldMs, cachedMs, atRestMiB, peakMiB } = inOwnProcess(tree.root);
  const inMemory = passes[0]?.score ?? 0;
  console.log(
    `${tree.name}: score ${score}, in memory ${inMemory}${Math.abs(score - inMemory) <= 4 * Number.EPSILON * inMemory ? '' : ': NOT THE SAME'}`,
  );
  console.log(
    `  cold ${ms(coldMs)}, one pass in memory ${ms(passMs)}: ratio ${(coldMs / passMs).toFixed(1)}; cached ${ms(cachedMs)}`,
  );
  console.log(
    `  memory ${(peakMiB - atRestMiB).toFixed(0)} MiB more than the ${atRestMiB.toFixed(0)} MiB at rest (goal: less than 300)`,
  );
};

const asked = process.argv[2];
if (asked === undefined) {
  createStore(connection, log, noEpochs);
  await connection.dropDatabase();
  await ensureIndexes(connection);
  for (const tree of TREES) await report(tree);
  await connection.dropDatabase();
} else {
  process.stdout.write(JSON.stringify(await compute(Number(asked))));
}
await connection.close();
