import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type CommandWatch, monitoredConnection, watchCommands } from '@fitness/shared/testing/commands.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { exceptOnPrebuilt } from '@fitness/shared/testing/query-plans.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSweepFiles } from '../src/app/sweep-files.ts';
import { createLocalStorage } from '../src/clients/local-storage.ts';
import { createStore } from '../src/store/store.ts';
import { SHARDS } from './shards.ts';
import { GYM, type Harness, OWNER, openHarness, POST, SERVICE, userTarget } from './support.ts';

const EXCEPTIONS = exceptOnPrebuilt('it sorts the result of an index even when the index is in that order', [
  'SORT: find media {"public_target":"?"} sort {"_id":1} limit',
]);
/** A target with more files than allowed. */
const CROWDED = { ...POST, attachable_id: 500 };

let harness: Harness;
let watch: CommandWatch;
beforeAll(async () => {
  harness = await openHarness({}, {}, { monitored: true });
  watch = watchCommands(harness.config.MONGODB_DATABASE, { exceptions: EXCEPTIONS, shards: SHARDS });
  for (let n = 0; n < 10; n += 1) await harness.upload(OWNER, GYM);
  await fill();
});
afterAll(() => harness.close());

/** Below the ids of uploads, because the newest upload has the largest id. */
const FIRST_COPY = -20_001;
const fill = async (): Promise<void> => {
  await harness.upload(OWNER, { ...GYM, purpose: 'gym_license' });
  const target = (n: number) => `${GYM.attachable_type}:${1_000 + Math.floor(n / 4)}`;
  const copy = (n: number) => ({
    _id: FIRST_COPY + n,
    attachable_id: 1_000 + Math.floor(n / 4),
    target: target(n),
    storage_key: `copy-${n}`,
    uploaded_by: 1_000 + Math.floor(n / 4),
  });
  await fillLike(harness.connection, 'media', (n) => ({ ...copy(n), public_target: target(n) }), {
    purpose: null,
  });
  const crowded = `${CROWDED.attachable_type}:${CROWDED.attachable_id}`;
  await harness.connection
    .collection('media')
    .updateMany(
      { _id: { $gt: FIRST_COPY, $lte: FIRST_COPY + 1_000 } as never },
      { $set: { ...CROWDED, target: crowded, public_target: crowded } },
    );
  await fillLike(harness.connection, 'media_gates', (n) => ({ _id: `copy-${n}` }));
};

/** No query of `work` scans a collection or sorts in memory. */
const expectServed = async (work: () => Promise<unknown>): Promise<void> => {
  const sent = await watch.during(work);
  expect(sent.filter(({ collection }) => collection.startsWith('media'))).not.toEqual([]);
  expect(await watch.faults(sent)).toEqual([]);
};
const newest = async (): Promise<number> => (await harness.rows(GYM)).at(-1)?._id ?? 0;

describe('queries', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['POST /media', () => harness.upload(OWNER, GYM)],
    ['POST /media that replaces', () => harness.upload(OWNER, { ...GYM, purpose: 'gym_license' })],
    ['GET /media/{id}', async () => harness.download(OWNER, await newest())],
    ['GET /media/{id}?width=320', async () => harness.download(OWNER, `${await newest()}?width=320`)],
    ['DELETE /media/{id}', async () => harness.send('DELETE', `/media/${await newest()}`, { as: OWNER })],
    [
      'Media.GetCopies',
      () => harness.grpc.call('GetCopies', { targets: [GYM, POST, SERVICE, userTarget(7)] }),
    ],
    [
      'Media.GetCopies for a target with too many files',
      () => harness.grpc.call('GetCopies', { targets: [CROWDED, GYM] }),
    ],
    [
      'Media.DeleteByPurpose',
      () =>
        harness.grpc.call('DeleteByPurpose', { target: GYM, purpose: 'gym_license', up_to_media_id: 1_000 }),
    ],
    [
      'gyms.gym.deleted',
      async () => {
        await harness.publish(gymDeleted, { subject: 1, data: { gym_id: 1 } });
        await eventually(async () => (await harness.rows(GYM)).length === 0);
      },
    ],
    [
      'identity.account.deleted',
      async () => {
        await harness.upload(OWNER, POST);
        const data = { user_id: 7, deleted_at: '2026-01-15 10:00:00' };
        await harness.publish(accountDeleted, { subject: 7, data });
        await eventually(async () => (await harness.rows(POST))[0]?.uploaded_by === null);
      },
    ],
  ])('no query of %s scans a collection or sorts in memory', async (_name, work) => {
    await expectServed(work);
  });

  test('no query of the sweeper scans a collection or sorts in memory', async () => {
    const connection = monitoredConnection(harness.config.MONGODB_DATABASE);
    const log = createLog({ service: 'test', level: 'silent' });
    await expectServed(async () =>
      createSweepFiles({
        store: createStore(connection, log),
        storage: await createLocalStorage(harness.config.MEDIA_DIRECTORY),
        realTime: { now: () => new Date(Date.now() + 2 * HOUR_MS) },
        log,
      })(),
    );
  });
});

test('every listed scatter is a command of these queries', () => {
  expect(watch.unusedScatters()).toEqual([]);
});
