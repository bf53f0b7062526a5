/** The profiles that posts stand on: a copy of what their owners tell, and the counters of their posts. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { NO_POSTS, type ProfileCounts } from '../domain/post.ts';
import { type ProfileRef, type ProfileState, profileKey } from '../domain/profile.ts';
import type { Models, ProfileDocument } from './models.ts';

export interface Profile {
  ref: ProfileRef;
  state: ProfileState;
  version: number;
  counts: ProfileCounts;
  newest: number;
}

export interface Profiles {
  /** By key; a profile that was never heard of is missing. */
  find(refs: readonly ProfileRef[]): Promise<Map<string, Profile>>;
  /** Those of one user. */
  ownedBy(userId: number): Promise<Profile[]>;
  /** Remembers a profile that was asked for, unless something is known of it already. */
  ensure(ref: ProfileRef, state: ProfileState, version: number): Promise<void>;
  load(session: ClientSession, ref: ProfileRef): Promise<Profile | undefined>;
  insert(session: ClientSession, profile: Profile): Promise<void>;
  /** Writes what an event told. */
  replace(session: ClientSession, ref: ProfileRef, state: ProfileState, version: number): Promise<void>;
  /**
   * Moves the counters of a profile that is not gone; undefined when it is. The write makes a change of the profile at
   * the same moment start again, so that no post is left behind in its old state.
   */
  count(
    session: ClientSession,
    ref: ProfileRef,
    moves: Partial<ProfileCounts>,
    newest?: number,
  ): Promise<Profile | undefined>;
  /**
   * Whether a profile that was remembered is there still, and stays so until the transaction ends: its document is
   * written, so of this and its end one comes first.
   */
  pin(session: ClientSession, ref: ProfileRef): Promise<boolean>;
  /** The counters as counted anew. */
  setCounts(session: ClientSession, ref: ProfileRef, counts: ProfileCounts, newest: number): Promise<void>;
  /** All of them. */
  all(session?: ClientSession): AsyncIterable<Profile>;
}

const toProfile = (found: ProfileDocument): Profile => ({
  ref: { kind: found.kind, id: found.profile_id },
  state: { ownerUserId: found.owner_user_id, isActive: found.is_active, gone: found.gone },
  version: found.version,
  counts: found.counts,
  newest: found.newest,
});

const fieldsOf = ({ ownerUserId, isActive, gone }: ProfileState) => ({
  owner_user_id: ownerUserId,
  is_active: isActive,
  gone,
});

const incOf = (moves: Partial<ProfileCounts>): Record<string, number> =>
  Object.fromEntries(Object.entries(moves).map(([key, by]) => [`counts.${key}`, by]));

export const createProfiles = ({ profiles }: Models): Profiles => ({
  find: async (refs) => {
    if (refs.length === 0) return new Map();
    const found = await profiles.find({ _id: trusted({ $in: refs.map(profileKey) }) }).lean();
    return new Map(found.map((document) => [document._id, toProfile(document)]));
  },
  ownedBy: async (userId) => (await profiles.find({ owner_user_id: userId }).lean()).map(toProfile),
  ensure: async (ref, state, version) => {
    const fresh = {
      kind: ref.kind,
      profile_id: ref.id,
      ...fieldsOf(state),
      version,
      counts: NO_POSTS,
      newest: 0,
    };
    try {
      await profiles.updateOne({ _id: profileKey(ref) }, { $setOnInsert: fresh }, { upsert: true });
    } catch (error) {
      // Somebody else remembered it at the same moment.
      if (!isDuplicateKey(error)) throw error;
    }
  },
  load: async (session, ref) => {
    const found = await profiles.findById(profileKey(ref)).session(session).lean();
    return found === null ? undefined : toProfile(found);
  },
  insert: async (session, { ref, state, version, counts, newest }) => {
    const document = {
      _id: profileKey(ref),
      kind: ref.kind,
      profile_id: ref.id,
      ...fieldsOf(state),
      version,
      counts,
      newest,
    };
    await profiles.create([document], { session });
  },
  replace: async (session, ref, state, version) => {
    const counts = state.gone ? { counts: NO_POSTS } : {};
    const change = { ...fieldsOf(state), version, ...counts };
    await profiles.updateOne({ _id: profileKey(ref) }, { $set: change }, { session });
  },
  count: async (session, ref, moves, newest = 0) => {
    const counted = await profiles
      .findOneAndUpdate(
        { _id: profileKey(ref), gone: false },
        { $inc: incOf(moves), $max: { newest } },
        { session, returnDocument: 'after' },
      )
      .lean();
    return counted === null ? undefined : toProfile(counted);
  },
  pin: async (session, ref) => {
    const alive = { _id: profileKey(ref), gone: false };
    return (await profiles.updateOne(alive, { $inc: { pins: 1 } }, { session })).matchedCount === 1;
  },
  setCounts: async (session, ref, counts, newest) => {
    await profiles.updateOne({ _id: profileKey(ref) }, { $set: { counts, newest } }, { session });
  },
  all: async function* (session) {
    for await (const found of profiles
      .find({}, null, { session: session ?? null })
      .lean()
      .cursor())
      yield toProfile(found);
  },
});
