/** The devices that receive push messages. Each session can register one. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import type { Model, PipelineStage } from 'mongoose';
import type { PLATFORMS } from '../domain/platforms.ts';

export interface Device {
  _id: number;
  user_id: number;
  /** The session that registered the device, as the hash of its token. Without the session the device receives nothing. */
  session: string;
  /** Firebase's registration token. */
  push_token: string;
  platform: (typeof PLATFORMS)[number];
  locale: string;
  created_at: Date;
  /** The expiry of the session. */
  expires_at: Date;
}

const schema = schemaOf<Device>(
  { versionKey: false, collection: 'devices' },
  erase('the devices of the account', {
    _id: { type: Number, required: true },
    user_id: { type: Number, required: true },
    session: { type: String, required: true },
    push_token: { type: String, required: true },
    platform: { type: String, required: true },
    locale: { type: String, required: true },
  }),
  erase('the devices of the account', {
    created_at: { type: Date, required: true },
    expires_at: { type: Date, required: true },
  }),
)
  .index({ user_id: 1, _id: -1 })
  .index({ session: 1 }, { unique: true })
  .index({ push_token: 1 }, { unique: true })
  .index({ expires_at: 1 }, { expireAfterSeconds: 0 });

export const deviceModel = (connection: Connection): Model<Device> =>
  connection.model<Device>('Device', schema);

/** A notification is sent to at most this many devices, the newest ones. */
export const MAX_DEVICES = 20;

export interface Devices {
  /** Returns the device of this account that has this push token or belongs to this session. */
  find(
    session: ClientSession,
    query: Pick<Device, 'user_id' | 'session' | 'push_token'>,
  ): Promise<Device | null>;
  /** Replaces every device with the same id, session or push token, of any account. */
  put(session: ClientSession, device: Device): Promise<void>;
  /** The ids of devices whose sessions have not ended, newest first. */
  idsOf(session: ClientSession, userId: number, now: Date): Promise<number[]>;
  get(id: number): Promise<Device | null>;
  /** The devices of the account that these sessions have registered. */
  ofSessions(userId: number, sessions: readonly string[]): Promise<Device[]>;
  /** The language of the newest device whose session has not ended; undefined when there is none. */
  localeOf(userId: number, now: Date): Promise<string | undefined>;
  /** False when the account has no device with this id. */
  delete(userId: number, id: number): Promise<boolean>;
  /** Deletes the device unless its push token has changed since `device` was read. */
  deleteGone(session: ClientSession, device: Pick<Device, '_id' | 'push_token'>): Promise<void>;
}

/** Two stages, so that every query planner uses the index on the account rather than the index on the expiry. */
const newestLive = (userId: number, now: Date, limit: number): PipelineStage[] => [
  { $match: { user_id: userId } },
  { $match: { expires_at: { $gt: now } } },
  { $sort: { _id: -1 } },
  { $limit: limit },
];

export const createDevices = (connection: Connection): Devices => {
  const devices = deviceModel(connection);
  return {
    find: async (session, { user_id, session: tokenHash, push_token }) => {
      const own = await devices.find({ user_id }).session(session).lean<Device[]>();
      return own.find((each) => each.push_token === push_token || each.session === tokenHash) ?? null;
    },
    put: async (session, device) => {
      const { _id, session: tokenHash, push_token } = device;
      // One condition for each index (docs/adr/0101).
      await devices.deleteOne({ _id }, { session });
      await devices.deleteOne({ session: tokenHash }, { session });
      await devices.deleteOne({ push_token }, { session });
      await devices.create([device], { session });
    },
    idsOf: async (session, userId, now) => {
      const live = await devices.aggregate<Pick<Device, '_id'>>(newestLive(userId, now, MAX_DEVICES), {
        session,
      });
      return live.map(({ _id }) => _id);
    },
    get: (id) => devices.findById(id).lean<Device>(),
    ofSessions: (userId, sessions) =>
      devices.aggregate<Device>([
        // Two stages, so that every query planner uses an index for the first.
        { $match: { user_id: userId } },
        { $match: { session: { $in: [...sessions] } } },
      ]),
    localeOf: async (userId, now) => {
      const [newest] = await devices.aggregate<Device>(newestLive(userId, now, 1));
      return newest?.locale;
    },
    delete: async (userId, id) => (await devices.deleteOne({ _id: id, user_id: userId })).deletedCount === 1,
    deleteGone: async (session, { _id, push_token }) => {
      await devices.deleteOne({ _id, push_token }, { session });
    },
  };
};

/** Deletes devices together with the sessions that registered them, in the transaction that revokes those. */
export const createDeviceRevocation = (connection: Connection) => {
  const devices = deviceModel(connection);
  return {
    ofSession: async (session: ClientSession, tokenHash: string): Promise<void> => {
      await devices.deleteOne({ session: tokenHash }, { session });
    },
    /** Deletes at most `limit` devices and returns how many. `keptHash`: the session that is not revoked. */
    someOfAccount: async (
      session: ClientSession,
      userId: number,
      keptHash: string | undefined,
      limit: number,
    ): Promise<number> => {
      const own = await devices
        .find({ user_id: userId }, { session: 1 }, { session, limit: limit + 1 })
        .lean<Device[]>();
      const others = own.filter((device) => device.session !== keptHash).slice(0, limit);
      const ids = others.map(({ _id }) => _id);
      if (ids.length > 0) await devices.deleteMany({ _id: trusted({ $in: ids }) }, { session });
      return ids.length;
    },
  };
};
