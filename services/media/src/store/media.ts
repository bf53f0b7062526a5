/** Rows of uploaded files. A row with a purpose is a private document. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy } from '@fitness/shared/mongo/privacy.ts';
import mongoose, { type Model } from 'mongoose';
import type { MediaRow, Target } from '../domain/media.ts';

const schema = new mongoose.Schema<MediaRow>(
  {
    _id: { type: Number, required: true },
    attachable_type: { type: String, required: true },
    attachable_id: { type: Number, required: true },
    purpose: { type: String, default: null },
    filename: { type: String, required: true },
    mime_type: { type: String, required: true },
    size: { type: Number, required: true },
    sha256: { type: String, required: true },
    storage_key: { type: String, required: true },
    uploaded_by: { type: Number, default: null },
    created_at: { type: Date, required: true },
  },
  { collection: 'media', versionKey: false },
)
  // The id leads: it lets a handful through, while a type is that of a great part of all rows.
  .index({ attachable_id: 1, attachable_type: 1 })
  .index({ storage_key: 1 }, { unique: true })
  .index({ uploaded_by: 1 })
  // One document of a purpose for each target.
  .index(
    { attachable_id: 1, attachable_type: 1, purpose: 1 },
    { unique: true, partialFilterExpression: { purpose: { $type: 'string' } } },
  );

privacy(
  schema,
  erase(
    'a file of an erased account goes, and its row as a whole',
    '_id',
    'attachable_type',
    'attachable_id',
  ),
  erase('likewise', 'purpose', 'filename', 'mime_type', 'size', 'sha256', 'storage_key', 'created_at'),
  erase('also where the file is that of a gym and stays', 'uploaded_by'),
);

export interface MediaStore {
  findById(id: number): Promise<MediaRow | null>;
  /** Rows without a purpose, in the order of their ids. */
  findPublic(targets: readonly Target[]): Promise<MediaRow[]>;
  /** Those of `keys` that a row names. */
  knownStorageKeys(keys: readonly string[]): Promise<Set<string>>;
  insert(session: ClientSession, row: MediaRow): Promise<void>;
  /** The deleted row; null when there was none. */
  delete(session: ClientSession, id: number): Promise<MediaRow | null>;
  /** `upTo`: a row with a larger id is newer than the one that is meant, and stays. */
  deleteByPurpose(
    session: ClientSession,
    target: Target,
    purpose: string,
    upTo?: number,
  ): Promise<MediaRow | null>;
  /** Deletes up to `limit` rows of a target, private documents included, and answers them. */
  takeOf(session: ClientSession, target: Target, limit: number): Promise<MediaRow[]>;
  /** Forgets who uploaded the files of a user that are not his own. */
  forgetUploader(userId: number): Promise<void>;
}

export const createMediaStore = (connection: Connection): MediaStore => {
  const model: Model<MediaRow> = connection.models.Media ?? connection.model<MediaRow>('Media', schema);
  return {
    findById: (id) => model.findById(id).lean<MediaRow>(),
    findPublic: async (targets) => {
      const byType = Map.groupBy(targets, (target) => target.attachable_type);
      const found = await Promise.all(
        [...byType].map(([type, same]) => {
          const ids = trusted({ $in: same.map((target) => target.attachable_id) });
          return model.find({ attachable_id: ids, attachable_type: type, purpose: null }).lean<MediaRow[]>();
        }),
      );
      return found.flat().sort((a, b) => a._id - b._id);
    },
    knownStorageKeys: async (keys) => {
      if (keys.length === 0) return new Set();
      const named = { storage_key: trusted({ $in: [...keys] }) };
      const rows = await model
        .find(named, { _id: 0, storage_key: 1 })
        .lean<Pick<MediaRow, 'storage_key'>[]>();
      return new Set(rows.map((row) => row.storage_key));
    },
    insert: async (session, row) => {
      await model.create([row], { session });
    },
    delete: (session, id) => model.findOneAndDelete({ _id: id }, { session }).lean<MediaRow>(),
    deleteByPurpose: async (session, { attachable_type, attachable_id }, purpose, upTo) => {
      // Found first and deleted by its id: not every database finds by an index what it deletes.
      const found = await model
        .findOne({ attachable_id, attachable_type, purpose }, { _id: 1 }, { session })
        .lean<Pick<MediaRow, '_id'>>();
      if (found === null || (upTo !== undefined && found._id > upTo)) return null;
      return model.findOneAndDelete({ _id: found._id }, { session }).lean<MediaRow>();
    },
    takeOf: async (session, { attachable_type, attachable_id }, limit) => {
      const rows = await model
        .find({ attachable_id, attachable_type }, null, { session, limit })
        .lean<MediaRow[]>();
      const ids = rows.map((row) => row._id);
      if (ids.length > 0) await model.deleteMany({ _id: trusted({ $in: ids }) }, { session });
      return rows;
    },
    forgetUploader: async (userId) => {
      await model.updateMany({ uploaded_by: userId }, { $set: { uploaded_by: null } });
    },
  };
};
