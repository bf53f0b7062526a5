/**
 * What the room for young objects of Node's heap costs and saves in content, with the cache of lists and without: a content with
 * each setting, in the same run, under the same load. `scripts/lib/node-flags.mjs` has the settings that are used.
 */
import { nodeFlags } from '../scripts/lib/node-flags.mjs';
import { ROUNDS } from './config.ts';
import { prepareData, REQUESTS_SIZE } from './data.ts';
import { residentMiB } from './figures.ts';
import { sample } from './race.ts';
import { startReplica } from './replica.ts';
import { conditions, printTable, spread } from './report.ts';
import { cursorPaths, ofGateway, searchPaths } from './rows/reads.ts';
import { rareWords } from './seed-posts.ts';

const SEMI_SPACES_MIB = [8, 16, 32];
const CACHES = { 'with the cache': {}, 'without it': { LIST_CACHE_MIB: '0' } };
const PAGES = 200;

const data = await prepareData();
await data.grow(REQUESTS_SIZE);

const flagsWith = (mib: number): string[] => [
  ...nodeFlags.filter((flag) => !flag.startsWith('--max-semi-space-size')),
  `--max-semi-space-size=${mib}`,
];

const all = [];
for (const [cache, variables] of Object.entries(CACHES))
  for (const mib of SEMI_SPACES_MIB) {
    const content = await startReplica('content', variables, flagsWith(mib));
    const gateway = await startReplica('gateway', { CONTENT_HTTP_URL: content.origin });
    const measured = { page: [] as number[], search: [] as number[], resident: [] as number[] };
    all.push({ name: `${mib} MiB, ${cache}`, content, gateway, ...measured });
  }

const paths = { page: await cursorPaths(PAGES), search: searchPaths(rareWords(REQUESTS_SIZE.posts)) };

/** The first round is the warm-up. */
for (let round = 0; round <= ROUNDS; round += 1)
  for (const one of all) {
    const { content, gateway } = one;
    for (const kind of ['page', 'search'] as const) {
      const named = [{ name: 'measured', pid: content.pid }];
      const { cpu } = await sample(ofGateway(gateway.origin, paths[kind]), named);
      if (round > 0) one[kind].push(cpu.measured ?? Number.NaN);
    }
    if (round > 0) one.resident.push(residentMiB(content.pid));
  }

printTable(
  `Semi-spaces: CPU milliseconds of content for one request, and its resident memory after the load, in MiB. ${conditions()}`,
  ['semi-space', '30 posts by cursor', 'search for a word in 50 posts', 'memory'],
  all.map(({ name, page, search, resident }) => [name, spread(page), spread(search), spread(resident)]),
);
for (const { content, gateway } of all) for (const { stop } of [content, gateway]) stop();
