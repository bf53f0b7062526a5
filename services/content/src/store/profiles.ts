/** The read model of profiles: copies of gyms and accounts, and how many posts each has. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { type BlogFilter, COUNT_KEYS, countIn, NO_POSTS, type ProfileCounts } from '../domain/post-lists.ts';
import {
  type ProfileKind,
  type ProfileRef,
  type ProfileState,
  profileKey,
  unlisted,
  type VersionedProfileState,
} from '../domain/profile.ts';
import type { Models, ProfileDocument } from './models.ts';

export interface Profile extends VersionedProfileState {
  ref: ProfileRef;
  /** What lists and totals show: `state`, or unlisted until all posts have that state. */
  shown: ProfileState;
  /** The largest id of a post that has `state`; undefined when all have. */
  movedThrough: number | undefined;
  counts: ProfileCounts;
  /** The largest id that a post of it ever had. */
  newest: number;
}

/** Profiles of one kind and state. */
interface ProfileSums {
  kind: ProfileKind;
  shown: Pick<ProfileState, 'isActive' | 'gone'>;
  counts: ProfileCounts;
  newest: number;
}

export interface Profiles {
  /** By `profileKey`; profiles without a stored copy are missing. */
  find(refs: readonly ProfileRef[]): Promise<Map<string, Profile>>;
  /** How many posts only this user and those who see everything see. Those of moving profiles are in no list of theirs. */
  countHidden(userId: number, kinds: readonly ProfileKind[], blog: BlogFilter): Promise<number>;
  /** Leaves an existing copy as it is. */
  insertIfMissing(ref: ProfileRef, profile: VersionedProfileState): Promise<void>;
  findOne(session: ClientSession, ref: ProfileRef): Promise<Profile | undefined>;
  /** One without posts. */
  insert(session: ClientSession, ref: ProfileRef, profile: VersionedProfileState): Promise<void>;
  setState(
    session: ClientSession,
    ref: ProfileRef,
    profile: VersionedProfileState & Partial<Pick<Profile, 'movedThrough'>>,
  ): Promise<void>;
  /**
   * Undefined when the profile is gone. A concurrent change of the profile conflicts with this write and is retried, so
   * that it also reaches the post whose transaction increments the counters.
   */
  incrementCounts(
    session: ClientSession,
    ref: ProfileRef,
    deltas: Partial<ProfileCounts>,
    newest?: number,
  ): Promise<Profile | undefined>;
  /** False when the profile is gone. Writes the document, so that a concurrent erasure conflicts with this transaction. */
  lockUnlessGone(session: ClientSession, ref: ProfileRef): Promise<boolean>;
  setCounts(session: ClientSession, ref: ProfileRef, counts: ProfileCounts, newest: number): Promise<void>;
  /** Adds up the counts of all profiles. */
  sums(session: ClientSession): Promise<ProfileSums[]>;
  all(): AsyncIterable<Profile>;
}

const fromDocument = (found: ProfileDocument): Profile => {
  const state = { ownerUserId: found.owner_user_id, isActive: found.is_active, gone: found.gone };
  return {
    ref: { kind: found.kind, id: found.profile_id },
    state,
    shown: found.moved_through === undefined ? state : unlisted(state),
    movedThrough: found.moved_through,
    version: found.version,
    counts: found.counts,
    newest: found.newest,
  };
};

const fieldsOf = ({ ownerUserId, isActive, gone }: ProfileState) => ({
  owner_user_id: ownerUserId,
  is_active: isActive,
  gone,
});

const emptyProfile = (ref: ProfileRef, { state, version }: VersionedProfileState) => ({
  kind: ref.kind,
  profile_id: ref.id,
  ...fieldsOf(state),
  version,
  counts: NO_POSTS,
  newest: 0,
});

const incOf = (deltas: Partial<ProfileCounts>): Record<string, number> =>
  Object.fromEntries(Object.entries(deltas).map(([key, by]) => [`counts.${key}`, by]));

export const createProfiles = ({ profiles }: Models): Profiles => ({
  find: async (refs) => {
    if (refs.length === 0) return new Map();
    const found = await profiles.find({ _id: trusted({ $in: refs.map(profileKey) }) }).lean();
    return new Map(found.map((document) => [document._id, fromDocument(document)]));
  },
  countHidden: async (userId, kinds, blog) => {
    const found = await profiles.find({ owner_user_id: userId }).lean();
    return found
      .map(fromDocument)
      .filter(
        ({ ref, state, movedThrough }) =>
          kinds.includes(ref.kind) && !state.gone && movedThrough === undefined,
      )
      .reduce(
        (sum, { counts, state }) =>
          sum + countIn(counts, state, 'all', blog) - countIn(counts, state, 'public', blog),
        0,
      );
  },
  insertIfMissing: async (ref, profile) => {
    const fresh = { $setOnInsert: emptyProfile(ref, profile) };
    try {
      await profiles.updateOne({ _id: profileKey(ref) }, fresh, { upsert: true });
    } catch (error) {
      // A concurrent upsert inserted it first.
      if (!isDuplicateKey(error)) throw error;
    }
  },
  findOne: async (session, ref) => {
    const found = await profiles.findById(profileKey(ref)).session(session).lean();
    return found === null ? undefined : fromDocument(found);
  },
  insert: async (session, ref, profile) => {
    await profiles.create([{ _id: profileKey(ref), ...emptyProfile(ref, profile) }], { session });
  },
  setState: async (session, ref, { state, version, movedThrough }) => {
    const counts = state.gone ? { counts: NO_POSTS } : {};
    const moved = movedThrough === undefined ? {} : { moved_through: movedThrough };
    const change = {
      $set: { ...fieldsOf(state), version, ...counts, ...moved },
      ...(movedThrough === undefined && { $unset: { moved_through: '' } }),
    };
    await profiles.updateOne({ _id: profileKey(ref) }, change, { session });
  },
  incrementCounts: async (session, ref, deltas, newest = 0) => {
    const counted = await profiles
      .findOneAndUpdate(
        { _id: profileKey(ref), gone: false },
        { $inc: incOf(deltas), $max: { newest } },
        { session, returnDocument: 'after' },
      )
      .lean();
    return counted === null ? undefined : fromDocument(counted);
  },
  lockUnlessGone: async (session, ref) => {
    const notGone = { _id: profileKey(ref), gone: false };
    return (await profiles.updateOne(notGone, { $inc: { pins: 1 } }, { session })).matchedCount === 1;
  },
  setCounts: async (session, ref, counts, newest) => {
    await profiles.updateOne({ _id: profileKey(ref) }, { $set: { counts, newest } }, { session });
  },
  sums: async (session) => {
    const groups = await profiles
      .aggregate<
        ProfileCounts & {
          _id: Pick<ProfileDocument, 'kind' | 'is_active' | 'gone' | 'moved_through'>;
          newest: number;
        }
      >([
        {
          $group: {
            _id: { kind: '$kind', is_active: '$is_active', gone: '$gone', moved_through: '$moved_through' },
            newest: { $max: '$newest' },
            ...Object.fromEntries(COUNT_KEYS.map((key) => [key, { $sum: `$counts.${key}` }])),
          },
        },
      ])
      .session(session);
    return groups.map(({ _id, newest, ...counts }) => ({
      kind: _id.kind,
      shown: { isActive: _id.is_active && _id.moved_through === undefined, gone: _id.gone },
      counts,
      newest,
    }));
  },
  all: async function* () {
    for await (const found of profiles.find({}).lean().cursor()) yield fromDocument(found);
  },
});
