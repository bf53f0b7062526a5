/** The second factors of accounts, one document each. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import mongoose from 'mongoose';
import { guardRevocations, type Revocations } from './revocations.ts';

interface Setup {
  /** Encrypted. */
  secret: string;
  expires_at: Date;
}

export interface SecondFactor {
  /** The id of the account. */
  _id: number;
  /** A secret that was shown to the user, who has not entered a first code yet. */
  setup: Setup | null;
  /** Encrypted; null until the factor is armed. It identifies the factor, because no two texts are the same. */
  secret: string | null;
  /** Time step of the newest accepted code. */
  last_step: number;
  /** Hashes of the unused recovery codes. */
  recovery_codes: string[];
}

const setup = new mongoose.Schema<Setup>(
  { secret: { type: String, required: true }, expires_at: { type: Date, required: true } },
  { _id: false },
);

const schema = schemaOf<SecondFactor>(
  { versionKey: false, collection: 'second_factors', nested: { setup: { type: setup, default: null } } },
  erase(
    'the second factor of the account',
    { _id: { type: Number, required: true } },
    'setup.secret',
    'setup.expires_at',
    {
      secret: { type: String, default: null },
      last_step: { type: Number, default: 0 },
      recovery_codes: { type: [String], default: [] },
    },
  ),
);

guardRevocations(schema, { subjectOf: ({ _id }) => _id, fields: ['secret'] });

export type SecondFactors = ReturnType<typeof createSecondFactors>;

/** What the job needs that encrypts the secrets with another key. */
const createRenewals = (factors: mongoose.Model<SecondFactor>, revocations: Revocations) => ({
  armed: (): AsyncIterable<{ _id: number; secret: string }> =>
    factors
      .find({ secret: trusted({ $ne: null }) }, { secret: 1 })
      .sort({ _id: 1 })
      .lean<{ _id: number; secret: string }>()
      .cursor(),

  /** Stores another encryption of the same secret, unless the factor has changed. It needs no order with other writes. */
  renew: async (userId: number, secret: string, renewed: string): Promise<void> => {
    const write = factors.updateOne({ _id: userId, secret }, { $set: { secret: renewed } });
    revocations.addNone(write);
    await write;
  },
});

/** Write only in transactions that also write the account: this orders the writes with sign-ins and with an erasure. */
export const createSecondFactors = (connection: Connection, revocations: Revocations) => {
  const factors = connection.model<SecondFactor>('SecondFactor', schema);

  const changes = async (
    session: ClientSession,
    filter: Record<string, unknown>,
    update: Record<string, unknown>,
  ): Promise<boolean> => (await factors.updateOne(filter, update, { session })).matchedCount === 1;

  return {
    find: (userId: number, session?: ClientSession): Promise<SecondFactor | null> =>
      factors.findById(userId, null, session && { session }).lean<SecondFactor>(),

    isArmed: async (userId: number): Promise<boolean> =>
      ((await factors.findById(userId).select({ secret: 1 }).lean<SecondFactor>())?.secret ?? null) !== null,

    ...createRenewals(factors, revocations),

    /** Replaces an earlier setup. */
    begin: async (session: ClientSession, userId: number, newSetup: Setup): Promise<void> => {
      await factors.updateOne({ _id: userId }, { $set: { setup: newSetup } }, { session, upsert: true });
    },

    /** False when the setup of this secret was replaced or has ended, or a factor is armed. */
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

    /** False when this factor is off, or a code of this or a later step was accepted. */
    acceptStep: (session: ClientSession, userId: number, secret: string, step: number): Promise<boolean> =>
      changes(
        session,
        { _id: userId, secret, last_step: trusted({ $lt: step }) },
        { $set: { last_step: step } },
      ),

    /** False when this factor is off or the code was used. */
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
