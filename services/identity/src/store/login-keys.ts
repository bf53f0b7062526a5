/**
 * The usernames, emails and phones in use, one document each. The unique `_id` decides races. Unique indexes of the
 * accounts would have to contain the shard key once the accounts are sharded.
 */

import { randomUUID } from 'node:crypto';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Model } from 'mongoose';
import { LOGIN_FIELDS, type LoginField, loginKey } from '../domain/login.ts';

interface LoginKey {
  _id: string;
  user_id: number;
  /** Changes with every revocation of the owner's credentials. Documents of earlier versions lack it. */
  stamp?: string;
  /** Number of sign-ins with this value. */
  sign_ins?: number;
  /** Keyed hashes of the networks that have signed in with this value, latest first. */
  networks?: string[];
}

/** The value by which an account was found, with its stamp at that time. */
export type FoundKey = Pick<LoginKey, '_id' | 'user_id' | 'stamp'>;

/** Phones change their address often. More networks would help the owner little and reveal more about them. */
export const MAX_NETWORKS = 20;

type LoginValues = Record<LoginField, string>;

/** Another account has the value. The transaction cannot be continued. */
export class TakenError extends Error {
  override name = 'TakenError';
  readonly field: LoginField;

  constructor(field: LoginField, cause: unknown) {
    super(`${field} is taken`, { cause });
    this.field = field;
  }
}

const schema = schemaOf<LoginKey>(
  { versionKey: false, collection: 'login_keys' },
  erase('usernames, emails and phones become available again', {
    _id: String,
    user_id: { type: Number, required: true },
    stamp: String,
    sign_ins: Number,
  }),
  erase('keyed hashes of the networks from which the account has signed in', {
    networks: { type: [String], default: undefined },
  }),
).index({ user_id: 1 });

export type LoginKeys = ReturnType<typeof createLoginKeys>;

export const createLoginKeys = (connection: Connection) => {
  const keys = connection.model<LoginKey>('LoginKey', schema);
  return { ...createClaims(keys), ...createSignIns(keys) };
};

/** Which account has which values. */
const createClaims = (keys: Model<LoginKey>) => {
  const claim = async (
    session: ClientSession,
    userId: number,
    field: LoginField,
    value: string,
    networks: string[],
  ): Promise<void> => {
    const key = { _id: loginKey(field, value), user_id: userId, stamp: randomUUID(), networks };
    try {
      await keys.create([key], { session });
    } catch (error) {
      throw isDuplicateKey(error) ? new TakenError(field, error) : error;
    }
  };

  return {
    /** Throws {@link TakenError}. */
    claimAll: async (
      session: ClientSession,
      userId: number,
      values: LoginValues,
      networks: string[],
    ): Promise<void> => {
      for (const field of LOGIN_FIELDS) await claim(session, userId, field, values[field], networks);
    },

    /** Claims the changed values and releases the previous ones. Throws {@link TakenError}. */
    move: async (
      session: ClientSession,
      userId: number,
      before: LoginValues,
      after: LoginValues,
    ): Promise<void> => {
      for (const field of LOGIN_FIELDS) {
        const old = loginKey(field, before[field]);
        if (old === loginKey(field, after[field])) continue;
        const released = await keys
          .findOneAndDelete({ _id: old, user_id: userId }, { session })
          .lean<LoginKey>();
        await claim(session, userId, field, after[field], released?.networks ?? []);
      }
    },

    releaseAll: async (session: ClientSession, userId: number): Promise<void> => {
      await keys.deleteMany({ user_id: userId }, { session });
    },
  };
};

/** Signing in with a value, and the networks from which it was used. */
const createSignIns = (keys: Model<LoginKey>) => ({
  /** Returns the keys by value. Unused values are missing. */
  find: async (values: readonly string[]): Promise<Map<string, FoundKey>> => {
    const rows = await keys.find({ _id: trusted({ $in: [...values] }) }).lean<FoundKey[]>();
    return new Map(rows.map((key) => [key._id, key]));
  },

  /** Makes concurrent sign-ins fail that have found the account already. */
  revoke: async (session: ClientSession, userId: number): Promise<void> => {
    await keys.updateMany({ user_id: userId }, { $set: { stamp: randomUUID() } }, { session });
  },

  /**
   * False if the owner's credentials were revoked, the account was erased, or the value was released since the key was
   * read. Writes the document, so that a concurrent change of these conflicts. `network`: a keyed hash.
   */
  recordSignIn: async (
    session: ClientSession,
    { _id, user_id, stamp }: FoundKey,
    network: string,
  ): Promise<boolean> => {
    const others = {
      $filter: { input: { $ifNull: ['$networks', []] }, cond: { $ne: ['$$this', network] } },
    };
    const recorded = await keys.updateOne(
      { _id, user_id, stamp: stamp ?? null },
      [
        {
          $set: {
            sign_ins: { $add: [{ $ifNull: ['$sign_ins', 0] }, 1] },
            networks: { $slice: [{ $concatArrays: [[network], others] }, MAX_NETWORKS] },
          },
        },
      ],
      { session, updatePipeline: true },
    );
    return recorded.matchedCount === 1;
  },

  /** Whether the account has signed in from this network with any of its values. */
  knowsNetwork: async (userId: number, network: string): Promise<boolean> => {
    const own = await keys.find({ user_id: userId }, { networks: 1 }).lean<Pick<LoginKey, 'networks'>[]>();
    return own.some(({ networks = [] }) => networks.includes(network));
  },

  forgetNetworks: async (session: ClientSession, userId: number): Promise<void> => {
    await keys.updateMany({ user_id: userId }, { $set: { networks: [] } }, { session });
  },
});
