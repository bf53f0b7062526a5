/** Rows of uploaded files. A row with a purpose is a private document. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy } from '@fitness/shared/mongo/privacy.ts';
import mongoose from 'mongoose';
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
    uploaded_by: { type: Number, required: true },
    created_at: { type: Date, required: true },
  },
  { collection: 'media', versionKey: false },
)
  .index({ attachable_type: 1, attachable_id: 1 })
  .index({ storage_key: 1 }, { unique: true })
  .index({ uploaded_by: 1 })
  // One document of a purpose for each target.
  .index(
    { attachable_type: 1, attachable_id: 1, purpose: 1 },
    { unique: true, partialFilterExpression: { purpose: { $type: 'string' } } },
  );

privacy(
  schema,
  erase('a file of an erased account goes, and its row as a whole', '_id', 'attachable_type', 'attachable_id'),
  erase('likewise', 'purpose', 'filename', 'mime_type', 'size', 'sha256', 'storage_key', 'created_at'),
  erase('also where the file is that of a gym and stays', 'uploaded_by'),
);

export interface MediaStore {
  findById(id: number): Promise<MediaRow | null>;
  /** Rows without a purpose, in the order of their ids. */
  findPublic(targets: readonly Target[]): Promise<MediaRow[]>;
  hasStorageKey(key: string): Promise<boolean>;
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
}

export const createMediaStore = (connection: Connection): MediaStore => {
  const model = connection.model<MediaRow>('Media', schema);
  return {
    findById: (id) => model.findById(id).lean<MediaRow>(),
    findPublic: async (targets) => {
      if (targets.length === 0) return [];
      const byType = Map.groupBy(targets, (target) => target.attachable_type);
      const clauses = [...byType].map(([type, same]) => ({
        attachable_type: type,
        attachable_id: trusted({ $in: same.map((target) => target.attachable_id) }),
      }));
      const rows = await model.find({ $or: clauses, purpose: null }).lean<MediaRow[]>();
      return rows.sort((a, b) => a._id - b._id);
    },
    hasStorageKey: async (key) => (await model.exists({ storage_key: key })) !== null,
    insert: async (session, row) => {
      await model.create([row], { session });
    },
    delete: (session, id) => model.findOneAndDelete({ _id: id }, { session }).lean<MediaRow>(),
    deleteByPurpose: (session, { attachable_type, attachable_id }, purpose, upTo) => {
      const age = upTo === undefined ? {} : { _id: trusted({ $lte: upTo }) };
      const filter = { attachable_type, attachable_id, purpose, ...age };
      return model.findOneAndDelete(filter, { session }).lean<MediaRow>();
    },
  };
};
