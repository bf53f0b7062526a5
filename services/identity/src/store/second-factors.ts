/** The second factors of accounts, one document each. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy } from '@fitness/shared/mongo/privacy.ts';
import mongoose from 'mongoose';
import { guardRevocations, type Revocations } from './revocations.ts';

interface Setup {
  /** Encrypted. */
  secret: string;
  expires_at: Date;
}

export interface SecondFactor {
  /** The account. */
  _id: number;
  /** Shown to the user, without a first code until now. */
  setup: Setup | null;
  /** Encrypted; null until it is armed. Names this factor: the text is never the same for another one. */
  secret: string | null;
  /** The time step of the newest code that was accepted. */
  last_step: number;
  /** The hashes of those that are left. */
  recovery_codes: string[];
}

const setup = new mongoose.Schema<Setup>(
  { secret: { type: String, required: true }, expires_at: { type: Date, required: true } },
  { _id: false },
);

const schema = new mongoose.Schema<SecondFactor>(
  {
    _id: { type: Number, required: true },
    setup: { type: setup, default: null },
    secret: { type: String, default: null },
    last_step: { type: Number, default: 0 },
    recovery_codes: { type: [String], default: [] },
  },
  { versionKey: false, collection: 'second_factors' },
);

privacy(
  schema,
  erase('the second factor of the account', '_id', 'setup.secret', 'setup.expires_at', 'secret', 'last_step'),
  erase('likewise', 'recovery_codes'),
);

guardRevocations(schema, { subjectOf: ({ _id }) => _id, fields: ['secret'] });

export type SecondFactors = ReturnType<typeof createSecondFactors>;

/** Writes belong into transactions that write the account as well: they order them with log-ins and with an erasure. */
export const createSecondFactors = (connection: Connection, revocations: Revocations) => {
  const factors = connection.model<SecondFactor>('SecondFactor', schema);

  const changes = async (
    session: ClientSession,
    filter: Record<string, unknown>,
    update: Record<string, unknown>,
  ): Promise<boolean> => (await factors.updateOne(filter, update, { session })).matchedCount === 1;

  return {
    find: (userId: number, session?: ClientSession): Promise<SecondFactor | null> =>
      factors
        .findById(userId)
        .session(session ?? null)
        .lean<SecondFactor>(),

    isArmed: async (userId: number): Promise<boolean> =>
      ((await factors.findById(userId).select({ secret: 1 }).lean<SecondFactor>())?.secret ?? null) !== null,

    /** Replaces a setup that was begun before. */
    begin: async (session: ClientSession, userId: number, begun: Setup): Promise<void> => {
      await factors.updateOne({ _id: userId }, { $set: { setup: begun } }, { session, upsert: true });
    },

    /** False when the setup of this secret is replaced or over, or a factor is armed. */
    arm: (
      session: ClientSession,
      userId: number,
      { secret, step, recoveryCodes }: { secret: string; step: number; recoveryCodes: string[] },
    ): Promise<boolean> => {
      revocations.add(session, userId);
      return changes(
        session,
        { _id: userId, secret: null, 'setup.secret': secret },
        { $set: { setup: null, secret, last_step: step, recovery_codes: recoveryCodes } },
      );
    },

    /** False when this factor is off, or a code of this step or a later one was accepted. */
    acceptStep: (session: ClientSession, userId: number, secret: string, step: number): Promise<boolean> =>
      changes(
        session,
        { _id: userId, secret, last_step: trusted({ $lt: step }) },
        { $set: { last_step: step } },
      ),

    /** False when this factor is off, or the code was used. */
    spendRecoveryCode: (
      session: ClientSession,
      userId: number,
      secret: string,
      hash: string,
    ): Promise<boolean> =>
      changes(session, { _id: userId, secret, recovery_codes: hash }, { $pull: { recovery_codes: hash } }),

    delete: async (session: ClientSession, userId: number): Promise<void> => {
      revocations.add(session, userId);
      await factors.deleteOne({ _id: userId }, { session });
    },
  };
};
