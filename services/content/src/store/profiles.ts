/** The read model of profiles: copies of gyms and accounts, with the number of posts of each. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';
import { type BlogFilter, COUNT_KEYS, countIn, NO_POSTS, type ProfileCounts } from '../domain/post-lists.ts';
import {
  type ProfileKind,
  type ProfileRef,
  type ProfileState,
  profileKey,
  unlisted,
  type VersionedProfileState,
} from '../domain/profile.ts';
import type { ProfileDocument } from './models/posts.ts';
import type { Models } from './models.ts';

export interface Profile extends VersionedProfileState {
  ref: ProfileRef;
  /** The state that lists and totals use: unlisted until all posts have `state`. */
  shown: ProfileState;
  /** The largest id of a post that has `state`; undefined once all posts have it. */
  movedThrough: number | undefined;
  counts: ProfileCounts;
  /** The largest id that a post of this profile ever had. */
  newest: number;
}

/** Sums over the profiles of one kind and state. */
interface ProfileSums {
  kind: ProfileKind;
  shown: Pick<ProfileState, 'isActive' | 'gone'>;
  counts: ProfileCounts;
  newest: number;
}

export interface Profiles {
  /** Keyed by `profileKey`. Profiles without a stored copy are missing. */
  find(refs: readonly ProfileRef[]): Promise<Map<string, Profile>>;
  /** The number of posts that only this user and operators see. Excludes moving profiles, which are not in their lists. */
  countHidden(userId: number, kinds: readonly ProfileKind[], blog: BlogFilter): Promise<number>;
  /** Does not change an existing copy. */
  insertIfMissing(ref: ProfileRef, profile: VersionedProfileState): Promise<void>;
  findOne(session: ClientSession, ref: ProfileRef): Promise<Profile | undefined>;
  /** Inserts a profile without posts. */
  insert(session: ClientSession, ref: ProfileRef, profile: VersionedProfileState): Promise<void>;
  setState(
    session: ClientSession,
    ref: ProfileRef,
    profile: VersionedProfileState & Partial<Pick<Profile, 'movedThrough'>>,
  ): Promise<void>;
  /**
   * Undefined if the profile is gone. A concurrent change of the profile conflicts with this write and is retried. It then
   * reaches the post whose transaction increments the counters.
   */
  incrementCounts(
    session: ClientSession,
    ref: ProfileRef,
    deltas: Partial<ProfileCounts>,
    newest?: number,
  ): Promise<Profile | undefined>;
  /** False if the profile is gone. Writes the document, so a concurrent erasure conflicts with this transaction. */
  lockUnlessGone(session: ClientSession, ref: ProfileRef): Promise<boolean>;
  setCounts(session: ClientSession, ref: ProfileRef, counts: ProfileCounts, newest: number): Promise<void>;
  /** Adds up the counts of all profiles. */
  sums(session: ClientSession): Promise<ProfileSums[]>;
  all(): AsyncIterable<Profile>;
}

const fromDocument = (document: ProfileDocument): Profile => {
  const state = { ownerUserId: document.owner_user_id, isActive: document.is_active, gone: document.gone };
  return {
    ref: { kind: document.kind, id: document.profile_id },
    state,
    shown: document.moved_through === undefined ? state : unlisted(state),
    movedThrough: document.moved_through,
    version: document.version,
    counts: document.counts,
    newest: document.newest,
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
    const documents = await profiles.find({ _id: trusted({ $in: refs.map(profileKey) }) }).lean();
    return new Map(documents.map((document) => [document._id, fromDocument(document)]));
  },
  countHidden: async (userId, kinds, blog) => {
    const documents = await profiles.find({ owner_user_id: userId }).lean();
    return documents
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
    await profiles.updateOne({ _id: profileKey(ref) }, fresh, { upsert: true }).catch(ignoreDuplicate);
  },
  findOne: async (session, ref) => {
    const document = await profiles.findById(profileKey(ref)).session(session).lean();
    return document === null ? undefined : fromDocument(document);
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
    for await (const document of profiles.find({}).lean().cursor()) yield fromDocument(document);
  },
});
