/**
 * What settings of Node's heap cost and save: a gateway and a content with each of them, side by side in the same run, under
 * the same load. `scripts/lib/node-flags.mjs` has the settings that are used.
 */
import { nodeFlags } from '../scripts/lib/node-flags.mjs';
import { ROUNDS } from './config.ts';
import { prepareData, REQUESTS_SIZE } from './data.ts';
import { pause, residentMiB } from './figures.ts';
import { load } from './load.ts';
import { totalOf } from './processes.ts';
import { sample } from './race.ts';
import { type Replica, startReplica } from './replica.ts';
import { conditions, printTable, spread } from './report.ts';
import { WITHOUT_QUERY } from './rows/reads.ts';

const OLD_SPACE = nodeFlags.filter((flag) => flag.startsWith('--max-old-space-size'));
const SETTINGS = {
  "Node's defaults": [],
  'old space limited': OLD_SPACE,
  'old space limited, semi-space 8 MiB': [...OLD_SPACE, '--max-semi-space-size=8'],
  'old space limited, semi-space 4 MiB': [...OLD_SPACE, '--max-semi-space-size=4'],
} satisfies Record<string, readonly string[]>;
/** After the load, so that what is left is what the process keeps. */
const SETTLED_MS = 2_000;
const PAGES = 200;

const data = await prepareData();
await data.grow(REQUESTS_SIZE);

interface Measured {
  settings: string;
  replicas: Replica[];
  gateway: string;
  /** Milliseconds of CPU of the gateway and content for one. */
  list: number[];
  trivial: number[];
  underLoad: number[];
}
const all: Measured[] = [];
for (const [settings, flags] of Object.entries(SETTINGS)) {
  const withFlags = ['--disable-warning=ExperimentalWarning', ...flags];
  const content = await startReplica('content', {}, withFlags);
  const gateway = await startReplica('gateway', { CONTENT_HTTP_URL: content.origin }, withFlags);
  all.push({
    settings,
    replicas: [content, gateway],
    gateway: gateway.origin,
    list: [],
    trivial: [],
    underLoad: [],
  });
}

const lists = Array.from({ length: PAGES }, (_, page) => `/api/v1/posts?per_page=30&page=${page + 1}`);
const costOf = async ({ replicas, gateway }: Measured, paths: readonly string[]): Promise<number> => {
  const named = replicas.map(({ name, pid }) => ({ name: `replica ${name}`, pid }));
  const { cpu } = await sample(() => load({ origin: gateway, paths }), named);
  return totalOf(Object.fromEntries(named.map(({ name }) => [name, cpu[name] ?? 0])));
};

for (let round = 0; round <= ROUNDS; round += 1)
  for (const one of all) {
    const list = await costOf(one, lists);
    const underLoad = one.replicas.reduce((sum, { pid }) => sum + residentMiB(pid), 0);
    const trivial = await costOf(one, [`/api/v1${WITHOUT_QUERY}`]);
    // The first round is the warm-up.
    if (round > 0) {
      one.list.push(list);
      one.trivial.push(trivial);
      one.underLoad.push(underLoad);
    }
  }
await pause(SETTLED_MS);

printTable(
  `Settings of Node's heap: CPU milliseconds of a gateway and a content for one request, and their resident memory together, in ` +
    `MiB. ${conditions()}`,
  ['settings', '30 posts', 'trivial read', 'under load', 'afterwards'],
  all.map(({ settings, list, trivial, underLoad, replicas }) => [
    settings,
    spread(list),
    spread(trivial),
    spread(underLoad),
    replicas.reduce((sum, { pid }) => sum + residentMiB(pid), 0).toFixed(0),
  ]),
);
for (const { replicas } of all) for (const { stop } of replicas) stop();
