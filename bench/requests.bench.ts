/** Compares the cost of requests with peers in the same run. Each ratio is taken within one round. */
import { api, expectStatus } from '../test/e2e/support.ts';
import { ONLY } from './config.ts';
import { prepareData, REQUESTS_SIZE } from './data.ts';
import { attempt, type Raced, race } from './measure.ts';
import { startPeers } from './peers/peers.ts';
import { report } from './report.ts';
import { debits } from './rows/debits.ts';
import { passwords } from './rows/passwords.ts';
import { otherReads, posts, WITHOUT_QUERY } from './rows/reads.ts';

const data = await prepareData();
// This precedes the other data, so that the newest training services belong to the reader and the other authors.
const checked = await passwords();
await data.grow(REQUESTS_SIZE);
const answer = expectStatus(await api('GET', WITHOUT_QUERY), 200).text;
const peers = await startPeers(answer, REQUESTS_SIZE.posts, data.userIds);
const works = [
  ...(await posts(data.reader.token, REQUESTS_SIZE.posts, peers)),
  ...otherReads(data, peers),
  await debits(),
  // These come last, because their limits apply per minute.
  ...checked,
];
const results: Raced[] = [];
for (const work of works.filter(({ name }) => name.includes(ONLY))) {
  const measured = await attempt(work.name, async () => results.push(await race(work)));
  if (measured) console.log(`measured: ${work.name}`);
}
report(results);
process.exit();
