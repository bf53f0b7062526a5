/**
 * One document for every target that a file was ever attached to. Attaching a file and the end of the target both write
 * it, so of the two at once the database lets one go first: no file is left behind on what is gone.
 */
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { privacy, pseudonymise, retain } from '@fitness/shared/mongo/privacy.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import mongoose, { type Model } from 'mongoose';
import { type Target, targetKey } from '../domain/media.ts';

interface GateDocument {
  /** The key of the target. */
  _id: string;
  /** The target is gone, for good: ids are never given again. */
  shut: boolean;
  /** Counts the files attached, only to make each of them a write. */
  passed: number;
}

const schema = new mongoose.Schema<GateDocument>(
  {
    _id: { type: String, required: true },
    shut: { type: Boolean, default: false },
    passed: { type: Number, default: 0 },
  },
  { collection: 'media_gates', versionKey: false },
);

privacy(
  schema,
  pseudonymise('what a file was attached to, by its number', '_id'),
  retain('the mark that nothing is attached to it any more', 'shut', 'passed'),
);

export interface GateStore {
  /** Makes the document of a target; before the transaction, where two at once would undo each other. */
  prepare(target: Target): Promise<void>;
  /** In the transaction that attaches to a prepared target; false when the target is gone. */
  pass(session: ClientSession, target: Target): Promise<boolean>;
  shut(target: Target): Promise<void>;
}

export const createGateStore = (connection: Connection): GateStore => {
  const gates: Model<GateDocument> =
    connection.models.MediaGate ?? connection.model<GateDocument>('MediaGate', schema);
  const prepare = async (target: Target): Promise<void> => {
    const _id = targetKey(target);
    if ((await gates.exists({ _id })) !== null) return;
    try {
      await gates.create({ _id });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  };
  return {
    prepare,
    pass: async (session, target) => {
      const open = { _id: targetKey(target), shut: false };
      const { matchedCount } = await gates.updateOne(open, { $inc: { passed: 1 } }, { session });
      return matchedCount === 1;
    },
    shut: async (target) => {
      await prepare(target);
      await gates.updateOne({ _id: targetKey(target) }, { $set: { shut: true } });
    },
  };
};
