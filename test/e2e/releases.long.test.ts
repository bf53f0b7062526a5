/**
 * This release and the previous one (test/releases/previous) share one database and broker. Each process is replaced by one of the other
 * release, one after another, forward and back, while users continue.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { checkOutRelease, previousRelease } from '../../scripts/lib/previous-release.mjs';
import { changedIndexes, readIndexes, startAccounting } from './accounting.ts';
import { startLoad } from './journeys.ts';
import { type OwnProduct, startOwnProduct } from './own-product.ts';

const TIMEOUT_MS = 20 * 60_000;
const WORKERS = 2;
/** Services precede gateways, because new gateways may need responses of the new services. */
const PROGRAMS = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing', 'gateway'];
const REPLICAS = ['', '-2'];

const checkout = join(mkdtempSync(join(tmpdir(), 'previous-release-')), 'release');
let product: OwnProduct | undefined;
afterAll(async () => {
  await product?.close();
  rmSync(join(checkout, '..'), { recursive: true, force: true });
}, 60_000);

test(
  'two releases replace each other without a failed request, lost event or changed index',
  async () => {
    await checkOutRelease(previousRelease(), checkout);
    product = await startOwnProduct(REPLICAS.length, { release: checkout });
    const { stack, client, administrator } = product;
    const sandboxUrl = stack.sandboxUrl;
    const catalogue = pathToFileURL(join(checkout, 'proto/events/catalogue.ts'));
    const accounting = await startAccounting(client, (await import(catalogue.href)).EVENTS);
    const load = startLoad({ baseUrl: stack.url, sandboxUrl, administrator, workers: WORKERS });
    const failedIn: Record<string, number> = {};
    const roll = async (replica: string, release: string, directory?: string): Promise<void> => {
      const before = load.result.failures.length;
      const names = PROGRAMS.map((program) => program + replica);
      // The gateways stay in front: they come last on the way forward and first on the way back.
      for (const name of directory === undefined ? names : names.toReversed()) {
        await stack.stop(name);
        await stack.start(name, directory === undefined ? {} : { directory });
      }
      failedIn[`${release}${replica}`] = load.result.failures.length - before;
    };
    const indexesBefore = await readIndexes(client);
    await roll('-2', 'present');
    const indexesBeside = await readIndexes(client);
    await roll('', 'present');
    await roll('-2', 'previous', checkout);
    await roll('', 'previous', checkout);
    const result = await load.finish();
    const events = await accounting.close();
    const indexesAfter = await readIndexes(client);
    const counts = {
      journeys: result.journeys,
      requests: result.requests,
      failedRequests: result.failures.length,
      failedIn,
      effects: result.effects,
      wrongEffects: result.wrongEffects.length,
      events: events.published,
      lostEvents: events.lost.length,
      deadLetters: events.deadLetters,
    };
    console.log(JSON.stringify(counts));
    expect(result.journeys).toBeGreaterThan(WORKERS);
    expect({
      failures: result.failures,
      wrongEffects: result.wrongEffects,
      lost: events.lost,
      deadLetters: events.deadLetters,
      changedByPresent: changedIndexes(indexesBefore, indexesBeside),
      changedByPrevious: changedIndexes(indexesBeside, indexesAfter),
    }).toEqual({
      failures: [],
      wrongEffects: [],
      lost: [],
      deadLetters: 0,
      changedByPresent: [],
      changedByPrevious: [],
    });
  },
  TIMEOUT_MS,
);
