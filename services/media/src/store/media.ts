/** Rows of uploaded files. A row with a purpose is a private document. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, type IsPersonal, personalFieldsOf, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { updateSome } from '@fitness/shared/mongo/steps.ts';
import mongoose, { type Model } from 'mongoose';
import { type MediaRow, type Target, targetKey, type Variant } from '../domain/media.ts';

/** A row with derived keys. Each query is one condition on one of them (docs/adr/0101). */
interface MediaDocument extends MediaRow {
  target: string;
  /** The target. Set only on a row without a purpose. */
  public_target?: string;
  /** Target and purpose. Set only on a private document. */
  document_key?: string;
  /** The storage keys of the smaller images. */
  variant_keys?: string[];
}

/** Not part of the resource. */
const WITHOUT_VARIANTS = { variants: 0, variant_keys: 0 };

const variantSchema = new mongoose.Schema<Variant>(
  {
    width: { type: Number, required: true },
    size: { type: Number, required: true },
    sha256: { type: String, required: true },
    storage_key: { type: String, required: true },
  },
  { _id: false },
);

const schema = schemaOf<MediaDocument>(
  {
    collection: 'media',
    versionKey: false,
    nested: { variants: { type: [variantSchema], default: undefined } },
  },
  erase('the files of an erased account are deleted with their rows', {
    _id: { type: Number, required: true },
    attachable_type: { type: String, required: true },
    attachable_id: { type: Number, required: true },
    target: { type: String, required: true },
    public_target: String,
    document_key: String,
    purpose: { type: String, default: null },
    filename: { type: String, required: true },
    mime_type: { type: String, required: true },
    size: { type: Number, required: true },
    sha256: { type: String, required: true },
    storage_key: { type: String, required: true },
    created_at: { type: Date, required: true },
  }),
  erase(
    'the smaller images of these files are deleted too',
    'variants.width',
    'variants.size',
    'variants.sha256',
    'variants.storage_key',
    { variant_keys: { type: [String], default: undefined } },
  ),
  erase('removed from files of other targets, which remain', {
    uploaded_by: { type: Number, default: null },
  }),
)
  .index({ target: 1 })
  .index({ public_target: 1, _id: 1 })
  // A target has at most one document per purpose.
  .index({ document_key: 1 }, { unique: true, sparse: true })
  .index({ storage_key: 1 }, { unique: true })
  .index({ variant_keys: 1 }, { sparse: true })
  .index({ uploaded_by: 1 });

const isPersonal = personalFieldsOf(schema);

export interface Media {
  /** Whether the stored field at this path is personal data. */
  isPersonal: IsPersonal;
  find(id: number): Promise<MediaRow | undefined>;
  /** Rows without a purpose, ordered by id: the oldest ones of each target, up to its limit. */
  findPublic(targets: readonly LimitedTarget[], session?: ClientSession): Promise<MediaRow[]>;
  /** Whether a target has `limit` rows without a purpose. Exact in a transaction that has passed its guard. */
  isFull(session: ClientSession | undefined, target: Target, limit: number): Promise<boolean>;
  /** Those of the keys that a row uses, for its file or for a smaller image. */
  knownStorageKeys(keys: readonly string[]): Promise<Set<string>>;
  insert(session: ClientSession, row: MediaRow): Promise<void>;
  /** Adds a smaller image unless the row has one of this width. Returns the row's image, or undefined if the row is gone. */
  addVariant(id: number, variant: Variant): Promise<Variant | undefined>;
  /** Returns the deleted rows, like every deletion here. */
  delete(session: ClientSession, id: number): Promise<MediaRow[]>;
  /** Deletes the document of a purpose unless it is newer, that is, its id is larger than `upTo`. */
  deleteByPurpose(
    session: ClientSession,
    target: Target,
    purpose: string,
    upTo?: number,
  ): Promise<MediaRow[]>;
  /** Deletes up to `limit` rows of a target, including private documents. */
  deleteBatch(session: ClientSession, target: Target, limit: number): Promise<MediaRow[]>;
  /** Sets `uploaded_by` to null in at most `limit` rows that this account uploaded. Returns their number. */
  removeUploader(userId: number, limit: number): Promise<number>;
}

type StorageKeys = Pick<MediaDocument, 'storage_key' | 'variant_keys'>;

interface LimitedTarget extends Target {
  limit: number;
}

const documentKey = (target: Target, purpose: string): string => `${targetKey(target)}:${purpose}`;

const toDocument = (row: MediaRow): MediaDocument => ({
  ...row,
  target: targetKey(row),
  ...(row.purpose === null
    ? { public_target: targetKey(row) }
    : { document_key: documentKey(row, row.purpose) }),
});

export const createMedia = (connection: Connection): Media => {
  const model: Model<MediaDocument> =
    connection.models.Media ?? connection.model<MediaDocument>('Media', schema);
  const deleteById = async (session: ClientSession, id: number): Promise<MediaRow[]> => {
    const deleted = await model.findOneAndDelete({ _id: id }, { session }).lean<MediaRow>();
    return deleted === null ? [] : [deleted];
  };
  return {
    isPersonal,
    find: async (id) => (await model.findById(id).lean<MediaRow>()) ?? undefined,
    findPublic: async (targets, session) => {
      const limits = new Map(targets.map((target) => [targetKey(target), target.limit]));
      const most = [...limits.values()].reduce((sum, limit) => sum + limit, 0);
      const together = await model
        .find({ public_target: trusted({ $in: [...limits.keys()] }) }, WITHOUT_VARIANTS, { limit: most + 1 })
        .session(session ?? null)
        .lean<MediaDocument[]>();
      if (together.length <= most) return oldestOfEach(together, limits);
      // Some target exceeds its limit. Each target is read on its own, so that no target's rows crowd out another's.
      const alone = [...limits].map(([key, limit]) =>
        model
          .find({ public_target: key }, WITHOUT_VARIANTS, { sort: { _id: 1 }, limit })
          .session(session ?? null)
          .lean<MediaDocument[]>(),
      );
      return oldestOfEach((await Promise.all(alone)).flat(), limits);
    },
    isFull: async (session, target, limit) => {
      const rows = await model
        .find({ public_target: targetKey(target) }, { _id: 1 }, { limit, ...(session && { session }) })
        .lean<Pick<MediaRow, '_id'>[]>();
      return rows.length >= limit;
    },
    knownStorageKeys: async (keys) => {
      if (keys.length === 0) return new Set();
      const among = trusted({ $in: [...keys] });
      const shown = { _id: 0, storage_key: 1, variant_keys: 1 };
      const rows = [
        ...(await model.find({ storage_key: among }, shown).lean<StorageKeys[]>()),
        ...(await model.find({ variant_keys: among }, shown).lean<StorageKeys[]>()),
      ];
      return new Set(rows.flatMap((row) => [row.storage_key, ...(row.variant_keys ?? [])]));
    },
    insert: async (session, row) => {
      await model.create([toDocument(row)], { session });
    },
    addVariant: async (id, variant) => {
      const { matchedCount } = await model.updateOne(
        { _id: id, 'variants.width': trusted({ $ne: variant.width }) },
        { $push: { variants: variant, variant_keys: variant.storage_key } },
      );
      if (matchedCount === 1) return variant;
      const row = await model.findById(id).lean<MediaRow>();
      return row?.variants?.find(({ width }) => width === variant.width);
    },
    delete: deleteById,
    deleteByPurpose: async (session, target, purpose, upTo = Number.POSITIVE_INFINITY) => {
      const row = await model
        .findOne({ document_key: documentKey(target, purpose) }, { _id: 1 }, { session })
        .lean<Pick<MediaRow, '_id'>>();
      return row === null || row._id > upTo ? [] : deleteById(session, row._id);
    },
    deleteBatch: async (session, target, limit) => {
      const rows = await model
        .find({ target: targetKey(target) }, null, { session, limit })
        .lean<MediaRow[]>();
      const ids = rows.map((row) => row._id);
      if (ids.length > 0) await model.deleteMany({ _id: trusted({ $in: ids }) }, { session });
      return rows;
    },
    removeUploader: (userId, limit) =>
      updateSome(undefined, model, { uploaded_by: userId }, { $set: { uploaded_by: null } }, limit),
  };
};

const oldestOfEach = (rows: readonly MediaDocument[], limits: ReadonlyMap<string, number>): MediaRow[] => {
  const counts = new Map<string, number>();
  return rows
    .toSorted((a, b) => a._id - b._id)
    .filter((row) => {
      const key = row.public_target ?? '';
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return count <= (limits.get(key) ?? 0);
    });
};
