/** Two replicas of each process, while one of them is killed every five seconds. */
import { sleep } from '@fitness/shared/kernel/timing.ts';
import { afterAll, expect, test } from '@jest/globals';
import { startAccounting } from './accounting.ts';
import { startLoad } from './journeys.ts';
import { type OwnProduct, startOwnProduct } from './own-product.ts';

const TIMEOUT_MS = 15 * 60_000;
const EVERY_MS = 5_000;
const PROGRAMS = ['gateway', 'identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'];
const VICTIMS = ['', '-2'].flatMap((replica) => PROGRAMS.map((program) => program + replica));

let product: OwnProduct | undefined;
afterAll(async () => product?.close(), 60_000);

test(
  'only requests pending at a killed process fail, and no effect is lost or duplicated',
  async () => {
    product = await startOwnProduct(2);
    const { stack, client, administrator } = product;
    const accounting = await startAccounting(client);
    const load = startLoad({
      baseUrl: stack.url,
      sandboxUrl: stack.sandboxUrl,
      administrator,
      workers: 4,
      allowsInterruptions: true,
    });
    for (const victim of VICTIMS) {
      const next = sleep(EVERY_MS);
      await stack.stop(victim, { force: true });
      await stack.start(victim);
      await next;
    }
    const result = await load.finish();
    const events = await accounting.close();
    console.log(
      JSON.stringify({
        kills: VICTIMS.length,
        journeys: result.journeys,
        requests: result.requests,
        interrupted: result.interrupted.length,
        effects: result.effects,
        events: events.published,
      }),
    );
    expect({ failures: result.failures, wrongEffects: result.wrongEffects, ...events }).toEqual({
      failures: [],
      wrongEffects: [],
      published: events.published,
      lost: [],
      deadLetters: 0,
    });
    // Each kill may interrupt the load's four requests, and nothing else may be interrupted.
    expect(result.interrupted.length).toBeLessThanOrEqual(4 * VICTIMS.length);
    expect(result.journeys).toBeGreaterThan(result.interrupted.length * 2);
  },
  TIMEOUT_MS,
);
