/**
 * The attachment guard of a target: a document that each attachment of a file and the deletion of the target write. The write
 * conflict orders the two, so no file remains attached to a deleted target.
 */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';
import type { Model } from 'mongoose';
import { type Target, targetKey } from '../domain/media.ts';

interface AttachmentGuardDocument {
  /** The key of the target. */
  _id: string;
  /** Whether the target was deleted. This is final, because ids are not reused. */
  shut: boolean;
  /** Incremented by each change of the target's files. It is the version of their copies (docs/adr/0101). */
  passed: number;
}

const schema = schemaOf<AttachmentGuardDocument>(
  { collection: 'media_gates', versionKey: false },
  pseudonymise('names the target of a file by its number', { _id: { type: String, required: true } }),
  retain('prevents further attachments to a deleted target', {
    shut: { type: Boolean, default: false },
    passed: { type: Number, default: 0 },
  }),
);

export interface AttachmentGuards {
  /** Creates the guard of a target. Must be called before the transaction, in which concurrent inserts would conflict. */
  prepare(target: Target): Promise<void>;
  /** Locks a prepared guard in the transaction that attaches a file. False when the target was deleted. */
  pass(session: ClientSession, target: Target): Promise<boolean>;
  /** Increments the version of a prepared guard, even after the target was deleted. */
  change(session: ClientSession, target: Target): Promise<void>;
  /** The versions of targets, keyed by `targetKey`. A target without a guard is missing. */
  versions(targets: readonly Target[], session?: ClientSession): Promise<Map<string, number>>;
  /** Refuses every later attachment to the target. */
  close(target: Target): Promise<void>;
}

export const createAttachmentGuards = (connection: Connection): AttachmentGuards => {
  const guards: Model<AttachmentGuardDocument> =
    connection.models.AttachmentGuard ?? connection.model<AttachmentGuardDocument>('AttachmentGuard', schema);
  const prepare = async (target: Target): Promise<void> => {
    const _id = targetKey(target);
    if ((await guards.exists({ _id })) !== null) return;
    await guards.create({ _id }).catch(ignoreDuplicate);
  };
  return {
    prepare,
    pass: async (session, target) => {
      const open = { _id: targetKey(target), shut: false };
      const { matchedCount } = await guards.updateOne(open, { $inc: { passed: 1 } }, { session });
      return matchedCount === 1;
    },
    change: async (session, target) => {
      await guards.updateOne({ _id: targetKey(target) }, { $inc: { passed: 1 } }, { session });
    },
    versions: async (targets, session) => {
      const keys = targets.map(targetKey);
      const documents = await guards
        .find({ _id: trusted({ $in: keys }) }, null, session && { session })
        .lean();
      return new Map(documents.map(({ _id, passed }) => [_id, passed]));
    },
    close: async (target) => {
      await prepare(target);
      await guards.updateOne({ _id: targetKey(target) }, { $set: { shut: true } });
    },
  };
};
