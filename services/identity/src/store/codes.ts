/** Confirmation codes, one document for each account. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import mongoose, { type Model } from 'mongoose';
import {
  type CodePurpose,
  codeMatches,
  type IssuedCode,
  LOCKOUT_MS,
  MAX_CONSECUTIVE_FAILURES,
  MAX_FAILED_ATTEMPTS,
  MAX_FAILED_ATTEMPTS_IN_ALL,
} from '../domain/confirmation-code.ts';

interface CodesDocument {
  _id: number;
  deletion: IssuedCode | null;
  reset: IssuedCode | null;
  phone: IssuedCode | null;
  /** Consecutive failures over the deletion codes. */
  wrong_in_row: number;
  /** End of the lockout of the deletion codes. */
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

const resetCode = code.clone().add({ tries_by_network: Object });
const phoneCode = code.clone().add({ phone: { type: String, required: true } });

const schema = schemaOf<CodesDocument>(
  {
    collection: 'confirmation_codes',
    versionKey: false,
    nested: {
      deletion: { type: code, default: null },
      reset: { type: resetCode, default: null },
      phone: { type: phoneCode, default: null },
    },
  },
  erase('the confirmation codes of the account', {
    _id: { type: Number, required: true },
    wrong_in_row: { type: Number, default: 0 },
    locked_until: { type: Date, default: null },
  }),
  erase(
    'the confirmation codes of the account',
    'deletion.id',
    'deletion.hash',
    'deletion.expires_at',
    'deletion.tries',
  ),
  erase('the confirmation codes of the account', 'reset.id', 'reset.hash', 'reset.expires_at', 'reset.tries'),
  erase('the confirmation codes of the account', 'phone.id', 'phone.hash', 'phone.expires_at', 'phone.tries'),
  erase('the phone that the account wants to have', 'phone.phone'),
  erase('keyed hashes of the networks that have tried the code', 'reset.tries_by_network'),
);

interface Attempt {
  /** For a reset code: the keyed hash of the network that sent it. */
  network?: string;
  /** For a deletion code. The check runs in the caller's transaction, which must not be aborted. */
  lockout?: {
    session: ClientSession;
    /** Called when this attempt locks the codes. */
    onLocked: () => Promise<void>;
  };
}

/** How many wrong attempts a reset code survives. */
export interface ResetTries {
  perNetwork: number;
  inAll: number;
}

export interface Codes {
  /** Makes `issued` the only valid code. Returns the code that it replaces. */
  replace(
    userId: number,
    purpose: CodePurpose,
    issued: IssuedCode,
    session?: ClientSession,
  ): Promise<IssuedCode | null>;
  /** Makes `older` valid again, unless `issued` has been replaced. */
  restore(userId: number, purpose: CodePurpose, issued: IssuedCode, older: IssuedCode | null): Promise<void>;
  /**
   * Returns the id of the code that `digits` match; undefined whatever the reason to reject them. The attempt is counted
   * before the comparison, so that concurrent guesses cannot exceed the limits.
   */
  check(
    userId: number,
    purpose: CodePurpose,
    digits: string,
    now: Date,
    attempt?: Attempt,
  ): Promise<string | undefined>;
  /** Consumes and returns the code; null when it is no longer valid. */
  consume(
    session: ClientSession,
    userId: number,
    purpose: CodePurpose,
    id: string,
    now: Date,
  ): Promise<IssuedCode | null>;
  /** Invalidates the code of one purpose. */
  withdraw(session: ClientSession, userId: number, purpose: CodePurpose): Promise<void>;
  /** Invalidates the codes of the account, but keeps the count of failed attempts. */
  invalidate(session: ClientSession, userId: number): Promise<void>;
  /** Deletes the codes and the count of failed attempts. */
  eraseAccount(session: ClientSession, userId: number): Promise<void>;
}

export const codesModel = (connection: Connection): Model<CodesDocument> =>
  connection.model<CodesDocument>('ConfirmationCodes', schema);

const RESET_TRIES: ResetTries = { perNetwork: MAX_FAILED_ATTEMPTS, inAll: MAX_FAILED_ATTEMPTS_IN_ALL };

/** Counts one attempt at a valid code; null when there is none, or the deletion codes are locked. */
const createCountAttempt = (model: Model<CodesDocument>, resetTries: ResetTries) => {
  const countDeletionAttempt = async (
    session: ClientSession,
    userId: number,
    valid: Record<string, unknown>,
    now: Date,
  ): Promise<CodesDocument | null> => {
    // An expired lockout resets the count.
    await model.updateOne(
      { _id: userId, locked_until: trusted({ $lte: now }) },
      { $set: { locked_until: null, wrong_in_row: 0 } },
      { session },
    );
    const failures = { $add: ['$wrong_in_row', 1] };
    // The same write sets the lockout: a crash after it cannot allow one more guess.
    const lockedUntil = {
      $cond: [{ $gte: [failures, MAX_CONSECUTIVE_FAILURES] }, new Date(now.getTime() + LOCKOUT_MS), null],
    };
    const counted = {
      'deletion.tries': { $add: ['$deletion.tries', 1] },
      wrong_in_row: failures,
      locked_until: lockedUntil,
    };
    return model
      .findOneAndUpdate({ ...valid, locked_until: null }, [{ $set: counted }], {
        returnDocument: 'after',
        updatePipeline: true,
        session,
      })
      .lean<CodesDocument>();
  };

  return (
    session: ClientSession,
    userId: number,
    purpose: CodePurpose,
    now: Date,
    network: string | undefined,
  ): Promise<CodesDocument | null> => {
    const maxTries = purpose === 'reset' ? resetTries.inAll : MAX_FAILED_ATTEMPTS;
    const valid = {
      _id: userId,
      [`${purpose}.expires_at`]: trusted({ $gt: now }),
      [`${purpose}.tries`]: trusted({ $lt: maxTries }),
      // A network without attempts left does not use up those of other networks.
      ...(network === undefined
        ? {}
        : { [triesOf(network)]: trusted({ $not: { $gte: resetTries.perNetwork } }) }),
    };
    if (purpose === 'deletion') return countDeletionAttempt(session, userId, valid, now);
    return model
      .findOneAndUpdate(valid, addTries(purpose, 1, network), { returnDocument: 'after', session })
      .lean<CodesDocument>();
  };
};

export const createCodes = (connection: Connection, resetTries = RESET_TRIES): Codes => {
  const model = codesModel(connection);
  const countAttempt = createCountAttempt(model, resetTries);

  /**
   * Uses a transaction even for a single write. It conflicts with an orphaned transaction and is retried until the
   * deadline. A write without one would wait for the other transaction and take effect after its request was refused.
   */
  const write = <T>(work: (session: ClientSession) => Promise<T>): Promise<T> =>
    inTransaction(connection, work, { isEffect: false });

  return {
    replace: async (userId, purpose, issued, session) => {
      const update = (within: ClientSession) =>
        model
          .findOneAndUpdate(
            { _id: userId },
            { $set: { [purpose]: issued } },
            { upsert: true, returnDocument: 'before', session: within },
          )
          .lean<CodesDocument>();
      const before = await (session === undefined ? write(update) : update(session));
      return before?.[purpose] ?? null;
    },
    restore: async (userId, purpose, issued, older) => {
      await model.updateOne({ _id: userId, [`${purpose}.id`]: issued.id }, { $set: { [purpose]: older } });
    },
    check: async (userId, purpose, digits, now, { network, lockout } = {}) => {
      const count = (session: ClientSession) => countAttempt(session, userId, purpose, now, network);
      const counted = await (lockout === undefined ? write(count) : count(lockout.session));
      const issued = counted?.[purpose];
      if (issued === null || issued === undefined || !codeMatches(issued, digits)) {
        if (counted?.locked_until instanceof Date && purpose === 'deletion') await lockout?.onLocked();
        return undefined;
      }
      await model.updateOne(
        { _id: userId, [`${purpose}.id`]: issued.id },
        {
          ...addTries(purpose, -1, network),
          ...(purpose === 'deletion' ? { $set: { wrong_in_row: 0, locked_until: null } } : {}),
        },
        lockout === undefined ? {} : { session: lockout.session },
      );
      return issued.id;
    },
    consume: async (session, userId, purpose, id, now) => {
      const before = await model
        .findOneAndUpdate(
          { _id: userId, [`${purpose}.id`]: id, [`${purpose}.expires_at`]: trusted({ $gt: now }) },
          { $set: { [purpose]: null } },
          { returnDocument: 'before', session },
        )
        .lean<CodesDocument>();
      return before?.[purpose] ?? null;
    },
    withdraw: async (session, userId, purpose) => {
      await model.updateOne({ _id: userId }, { $set: { [purpose]: null } }, { session });
    },
    invalidate: async (session, userId) => {
      await model.updateOne(
        { _id: userId },
        { $set: { deletion: null, reset: null, phone: null } },
        { session },
      );
    },
    eraseAccount: async (session, userId) => {
      await model.deleteOne({ _id: userId }, { session });
    },
  };
};

const triesOf = (network: string): string => `reset.tries_by_network.${network}`;

const addTries = (purpose: CodePurpose, count: 1 | -1, network: string | undefined) => ({
  $inc: { [`${purpose}.tries`]: count, ...(network === undefined ? {} : { [triesOf(network)]: count }) },
});
