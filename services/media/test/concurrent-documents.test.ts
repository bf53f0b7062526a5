/** Uploads of one license document at once. The last commit must be the one that the license's service takes for the newest. */
import { attachDocument, detachDocument, NO_LICENSE } from '@fitness/contracts/license.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Target } from '../src/domain/media.ts';
import { startMedia } from '../src/service.ts';
import { fileClient, type Harness, OWNER, openHarness, type Uploaded, userTarget } from './support.ts';

const ROUNDS = 12;
const UPLOADS = 6;

let harness: Harness;
let replica: RunningService;
beforeAll(async () => {
  harness = await openHarness();
  replica = await startMedia(harness.config);
});
afterAll(async () => {
  await replica.close();
  await harness.close();
});

type Fields = Target & { purpose: string };

const uploadOnce = async (fields: Fields, n: number): Promise<Uploaded> => {
  const client = n % 2 === 0 ? harness : fileClient(replica.url);
  const uploaded = await client.upload(OWNER, fields);
  // Conflicts in a busy database may last until the transaction deadline (503). Nothing has changed then.
  return uploaded.status === 503 ? uploadOnce(fields, n) : uploaded;
};

/** The license of a service that receives the events of these documents in the order in which media published them. */
const licenseFrom = (ids: ReadonlySet<number>) =>
  harness.tap.events
    .filter(({ subject }) => ids.has(Number(subject)))
    .reduce((license, { type, subject }) => {
      const mediaId = Number(subject);
      const next =
        type === 'media.media.attached'
          ? attachDocument(license, { mediaId, filename: 'license' })
          : detachDocument(license, mediaId);
      return next ?? license;
    }, NO_LICENSE);

test.each<[string, () => Fields]>([
  ['gym', () => ({ ...harness.newGym(), purpose: 'gym_license' })],
  ['trainer', () => ({ ...userTarget(7), purpose: 'trainer_license' })],
])(
  'the last commit of six concurrent uploads of a %s license is the license, and the others are gone',
  async (_, fieldsOf) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const fields = fieldsOf();
      const { purpose, ...target } = fields;
      const files = (await harness.filesOnDisk()).length;
      const hadFile = (await harness.rows({ ...target, purpose } as never)).length;
      const uploads = await Promise.all(
        Array.from({ length: UPLOADS }, (_unused, n) => uploadOnce(fields, n)),
      );
      expect(uploads.map(({ status }) => status)).toEqual(Array(UPLOADS).fill(201));
      const ids = new Set(uploads.map(({ body }) => body.data.id as number));
      const rows = await harness.rows({ ...target, purpose } as never);
      expect(rows.map(({ _id }) => _id)).toEqual([Math.max(...ids)]);
      expect(await harness.filesOnDisk()).toHaveLength(files - hadFile + 1);
      const eventsOf = () => harness.tap.events.filter(({ subject }) => ids.has(Number(subject)));
      await eventually(async () => eventsOf().length === 2 * UPLOADS - 1);
      expect(licenseFrom(ids).mediaId).toBe(rows[0]?._id);
    }
  },
);
