import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Model } from 'mongoose';

/** Stores the public files of a row, unless the row has a newer copy or does not exist. */
export type SaveMedia = (session: ClientSession, id: number, copy: MediaCopy) => Promise<void>;

export const createSaveMedia =
  <Row extends { _id: number; media?: MediaCopy }>(
    model: Model<Row>,
    /** Called in the same transaction. */
    saved?: (session: ClientSession, id: number) => Promise<void>,
  ): SaveMedia =>
  async (session, id, { version, files }) => {
    const rows = model.collection;
    const row = await rows.findOne<Row>({ _id: id as never }, { session, projection: { media: 1 } });
    if (row === null || (row.media?.version ?? 0) > version) return;
    await rows.updateOne({ _id: id as never }, { $set: { media: { version, files } } }, { session });
    await saved?.(session, id);
  };
