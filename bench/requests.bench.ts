/**
 * Compares the cost of requests with peers in the same run. The product and the peer take turns, and each ratio is taken within one
 * round. `BENCH_SECONDS` and `BENCH_ROUNDS` shorten a run; `BENCH_ONLY` selects work by a part of its name.
 */

import { api, expectStatus } from '../test/e2e/support.ts';
import { ONLY, SKIPPED_PEERS } from './config.ts';
import { prepareData, REQUESTS_SIZE } from './data.ts';
import { startPeers } from './peers/peers.ts';
import { type Raced, race } from './race.ts';
import { report } from './report.ts';
import { besideMedici, debits } from './rows/debits.ts';
import { passwords } from './rows/passwords.ts';
import { otherReads, posts, WITHOUT_QUERY } from './rows/reads.ts';

const skipped = [...SKIPPED_PEERS];
const data = await prepareData();
// This precedes the other data, so that the newest training services belong to the reader and the other authors.
const checked = await passwords();
await data.grow(REQUESTS_SIZE);
const answer = expectStatus(await api('GET', WITHOUT_QUERY), 200).text;
const peers = await startPeers({ answer, posts: REQUESTS_SIZE.posts, userIds: data.userIds });
const debit = await debits();
const works = [
  ...(await posts(data.reader.token, REQUESTS_SIZE.posts, peers)),
  ...otherReads(data, peers),
  debit,
  ...(await besideMedici(debit)),
  // These come last, because their limits apply per minute.
  ...checked,
];
const results: Raced[] = [];
for (const work of works.filter(({ name }) => name.includes(ONLY))) {
  try {
    results.push(await race(work));
    console.log(`measured: ${work.name}`);
  } catch (error) {
    skipped.push(`${work.name}: ${(error as Error).message}`);
  }
}
report(results, skipped);
process.exit();
