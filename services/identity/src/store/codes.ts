/** Confirmation codes, one document an account. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy } from '@fitness/shared/mongo/privacy.ts';
import mongoose from 'mongoose';
import {
  type CodePurpose,
  codeMatches,
  type IssuedCode,
  LOCK_MS,
  MAX_WRONG_IN_ROW,
  MAX_WRONG_TRIES,
} from '../domain/confirmation-code.ts';

interface CodesDocument {
  _id: number;
  deletion: IssuedCode | null;
  reset: IssuedCode | null;
  wrong_in_row: number;
  locked_until: Date | null;
}

const code = new mongoose.Schema<IssuedCode>(
  {
    id: { type: String, required: true },
    hash: { type: String, required: true },
    expires_at: { type: Date, required: true },
    tries: { type: Number, required: true },
  },
  { _id: false },
);

const schema = new mongoose.Schema<CodesDocument>(
  {
    _id: { type: Number, required: true },
    deletion: { type: code, default: null },
    reset: { type: code, default: null },
    wrong_in_row: { type: Number, default: 0 },
    locked_until: { type: Date, default: null },
  },
  { collection: 'confirmation_codes', versionKey: false },
);

privacy(
  schema,
  erase('codes of the account', '_id', 'wrong_in_row', 'locked_until'),
  erase('likewise', 'deletion.id', 'deletion.hash', 'deletion.expires_at', 'deletion.tries'),
  erase('likewise', 'reset.id', 'reset.hash', 'reset.expires_at', 'reset.tries'),
);

export interface CodeStore {
  /** Makes `issued` the only code that counts; gives the one that counted before. */
  replace(userId: number, purpose: CodePurpose, issued: IssuedCode): Promise<IssuedCode | null>;
  /** Puts `older` back, unless a newer code than `issued` has come meanwhile. */
  restore(userId: number, purpose: CodePurpose, issued: IssuedCode, older: IssuedCode | null): Promise<void>;
  /**
   * The id of the code that `digits` match, or undefined for every reason to reject them. A try is taken before the
   * comparison, so that parallel guesses cannot exceed the caps.
   */
  check(userId: number, purpose: CodePurpose, digits: string, now: Date): Promise<string | undefined>;
  /** Uses the code up; false when it no longer counts. */
  spend(
    session: ClientSession,
    userId: number,
    purpose: CodePurpose,
    id: string,
    now: Date,
  ): Promise<boolean>;
  /** Ends the codes that are out; how many wrong ones there were stays counted. */
  withdraw(session: ClientSession, userId: number): Promise<void>;
  /** Forgets every code of the account. */
  forget(session: ClientSession, userId: number): Promise<void>;
}

export const createCodeStore = (connection: Connection): CodeStore => {
  const model = connection.model<CodesDocument>('ConfirmationCodes', schema);

  /** Takes one try of a code that still counts. */
  const takeTry = async (userId: number, purpose: CodePurpose, now: Date): Promise<CodesDocument | null> => {
    // A day of silence that is over begins a new row.
    await model.updateOne(
      { _id: userId, locked_until: trusted({ $lte: now }) },
      { $set: { locked_until: null, wrong_in_row: 0 } },
    );
    const inRow = { $add: ['$wrong_in_row', 1] };
    // The last try of a row begins the silence itself: the next guess finds it, and so does one after a crash.
    const silence = { $cond: [{ $gte: [inRow, MAX_WRONG_IN_ROW] }, new Date(now.getTime() + LOCK_MS), null] };
    return model
      .findOneAndUpdate(
        {
          _id: userId,
          locked_until: null,
          [`${purpose}.expires_at`]: trusted({ $gt: now }),
          [`${purpose}.tries`]: trusted({ $lt: MAX_WRONG_TRIES }),
        },
        [
          {
            $set: {
              [`${purpose}.tries`]: { $add: [`$${purpose}.tries`, 1] },
              wrong_in_row: inRow,
              locked_until: silence,
            },
          },
        ],
        { returnDocument: 'after', updatePipeline: true },
      )
      .lean<CodesDocument>();
  };

  return {
    replace: async (userId, purpose, issued) => {
      const before = await model
        .findOneAndUpdate(
          { _id: userId },
          { $set: { [purpose]: issued } },
          { upsert: true, returnDocument: 'before' },
        )
        .lean<CodesDocument>();
      return before?.[purpose] ?? null;
    },
    restore: async (userId, purpose, issued, older) => {
      await model.updateOne({ _id: userId, [`${purpose}.id`]: issued.id }, { $set: { [purpose]: older } });
    },
    check: async (userId, purpose, digits, now) => {
      const taken = await takeTry(userId, purpose, now);
      const issued = taken?.[purpose];
      if (taken === null || issued === null || issued === undefined) return undefined;
      if (codeMatches(issued, digits)) {
        await model.updateOne(
          { _id: userId, [`${purpose}.id`]: issued.id },
          { $inc: { [`${purpose}.tries`]: -1 }, $set: { wrong_in_row: 0, locked_until: null } },
        );
        return issued.id;
      }
      return undefined;
    },
    spend: async (session, userId, purpose, id, now) => {
      const spent = await model.updateOne(
        { _id: userId, [`${purpose}.id`]: id, [`${purpose}.expires_at`]: trusted({ $gt: now }) },
        { $set: { [purpose]: null } },
        { session },
      );
      return spent.matchedCount === 1;
    },
    withdraw: async (session, userId) => {
      await model.updateOne({ _id: userId }, { $set: { deletion: null, reset: null } }, { session });
    },
    forget: async (session, userId) => {
      await model.deleteOne({ _id: userId }, { session });
    },
  };
};
