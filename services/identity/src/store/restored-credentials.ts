/** The credentials of a database that was restored from a backup. Some of them have been revoked, but it is unknown which. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import { trusted } from '@fitness/shared/mongo/connect.ts';
import { STEP_MAX } from '@fitness/shared/mongo/steps.ts';
import type { Model } from 'mongoose';
import { codesModel } from './codes.ts';
import { deviceModel } from './devices.ts';
import { oauthRecordModel } from './oauth-record.ts';
import type { Revocations } from './revocations.ts';
import { tokenModel } from './token-document.ts';

/**
 * Deletes every session, personal token, confirmation code and device, and every OAuth grant with what was issued under it.
 * Returns the number of documents. It may be repeated. No gateway may run meanwhile, because none is notified.
 */
export type EndRestoredCredentials = (onStep: (deleted: number) => void) => Promise<number>;

export const createEndRestoredCredentials =
  (connection: Connection, revocations: Revocations): EndRestoredCredentials =>
  async (onStep) => {
    const endAll = async <Row>(model: Model<Row>): Promise<number> => {
      for (let total = 0; ; ) {
        const rows = await model.find({}, { _id: 1 }, { limit: STEP_MAX }).lean<{ _id: never }[]>();
        if (rows.length === 0) return total;
        const write = model.deleteMany({ _id: trusted({ $in: rows.map(({ _id }) => _id) }) } as never);
        revocations.addNone(write);
        await write;
        total += rows.length;
        onStep(rows.length);
      }
    };
    let total = 0;
    // Grants and tokens first: devices are useless without them.
    total += await endAll(oauthRecordModel(connection));
    total += await endAll(tokenModel(connection));
    total += await endAll(codesModel(connection));
    total += await endAll(deviceModel(connection));
    return total;
  };
