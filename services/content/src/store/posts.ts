import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import { createLists, type ListCache } from '@fitness/shared/lists/index.ts';
import type { Listed, ListQuery, Slice } from '@fitness/shared/lists/list.ts';
import { searchIn } from '@fitness/shared/lists/match.ts';
import { createRowTexts, type RowTexts, type Transaction } from '@fitness/shared/lists/texts.ts';
import type { ListVersions } from '@fitness/shared/lists/versions.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { IsPersonal } from '@fitness/shared/mongo/privacy.ts';
import { STEP_MAX } from '@fitness/shared/mongo/steps.ts';
import { type Post, type PostFields, type PostFlags, pickPostFields } from '../domain/post.ts';
import { countKey, flagsOf, GONE_FACET, NO_POSTS, type ProfileCounts } from '../domain/post-lists.ts';
import { type ProfileRef, type ProfileState, profileKey } from '../domain/profile.ts';
import type { Counters } from './counters.ts';
import { createSaveMedia, type SaveMedia } from './media-copy.ts';
import { isPersonalPostField, type PostDocument, type ProfileDocument } from './models/posts.ts';
import type { Models } from './models.ts';
import { fromDocument, toPostDocument, visibility, visibilityOfMoving } from './post-document.ts';

/** No post has more than one of the `facets`. */
interface PostQuery extends Omit<ListQuery, 'keys' | 'search'> {
  facets: readonly string[];
  search?: string | undefined;
}

interface PostPage extends Omit<Listed, 'rows'> {
  rows: Post[];
}

export interface Posts {
  /** Whether the stored field at this path is personal data. */
  isPersonal: IsPersonal;
  /** A post of a moving profile is returned as non-public, with the new owner of the profile. */
  find(id: number, session?: ClientSession): Promise<Post | undefined>;
  /** In the order of `ids`. Unknown posts and posts of gone profiles are left out. */
  findMany(ids: readonly number[]): Promise<Post[]>;
  insert(session: ClientSession, post: Post, profile: ProfileState): Promise<void>;
  /** Sets `fields`, and the fields derived from them and from `profile`. */
  update(
    session: ClientSession,
    post: Post,
    fields: PostFields,
    profile: ProfileState,
    now: Date,
  ): Promise<Post>;
  /** Returns the removed post; undefined if it did not exist. */
  remove(session: ClientSession, id: number): Promise<Post | undefined>;
  /**
   * One step: sets the owner, visibility and facets of the posts of a profile with ids above `after`. Returns the id after
   * which the next step starts; undefined if no posts are left.
   */
  updateVisibility(
    session: ClientSession,
    ref: ProfileRef,
    profile: ProfileState,
    after: number,
  ): Promise<number | undefined>;
  list(query: PostQuery, slice: Slice): Promise<PostPage>;
  /** The number of posts in a list, if the list is cached in memory. */
  cachedCount(facet: string, versions: ListVersions): Promise<number | undefined>;
  saveMedia: SaveMedia;
  allIds(): Promise<number[]>;
  /** Removes some of the grams of posts that are about to be removed. See `Part`. */
  removeTexts(session: ClientSession, ids: readonly number[], limit: number): Promise<number>;
  /** Posts whose profile is gone. */
  goneIds(limit: number): Promise<number[]>;
  /** Counts the posts of a profile. */
  recount(session: ClientSession, ref: ProfileRef): Promise<{ counts: ProfileCounts; newest: number }>;
  /** Corrects the grams of every post, and returns how many were wrong. Reads all posts. */
  reindex(progress: Progress): Promise<number>;
  /** Every profile that has posts. Reads the whole collection. */
  profiles(): Promise<ProfileRef[]>;
}

const TEXTS = ['title', 'content'] as const;

const createFind =
  ({ posts, profiles }: Models): Posts['find'] =>
  async (id, session) => {
    const [document] = await posts
      .aggregate<PostDocument & { profiles: ProfileDocument[] }>([
        { $match: { _id: id } },
        { $project: { facets: 0 } },
        {
          $lookup: {
            from: profiles.collection.name,
            localField: 'profile_key',
            foreignField: '_id',
            as: 'profiles',
          },
        },
      ])
      .session(session ?? null);
    return document && { ...fromDocument(document), ...visibilityOfMoving(document.profiles[0]) };
  };

/** The grams of a post are written with it. */
const createWrites = ({ posts }: Models, texts: RowTexts): Pick<Posts, 'insert' | 'update' | 'remove'> => ({
  insert: async (session, post, profile) => {
    await posts.create([toPostDocument(post, profile)], { session });
    await texts.add(session, post.id, post);
  },
  update: async (session, post, fields, profile, now) => {
    const sameText = fields.title === post.title && fields.content === post.content;
    const change = {
      ...pickPostFields(fields),
      ...visibility(fields, post.profile, profile),
      updated_at: now,
    };
    const written = await posts
      .findOneAndUpdate(
        { _id: post.id },
        { $set: change, $inc: { version: 1 } },
        { session, returnDocument: 'after' },
      )
      .select({ facets: 0 })
      .lean();
    if (!sameText) {
      await texts.remove(session, [post.id]);
      await texts.add(session, post.id, fields);
    }
    if (written === null) throw new Error(`Post ${post.id} was deleted within the transaction`);
    return fromDocument(written);
  },
  remove: async (session, id) => {
    const removed = await posts.findOneAndDelete({ _id: id }, { session }).select({ facets: 0 }).lean();
    await texts.remove(session, [id]);
    return removed === null ? undefined : fromDocument(removed);
  },
});

/** The posts of a profile, and the profiles that have posts. */
const createProfileQueries = ({
  posts,
}: Models): Pick<Posts, 'updateVisibility' | 'recount' | 'profiles'> => ({
  updateVisibility: async (session, ref, profile, after) => {
    const rows = await posts
      .find({ profile_key: profileKey(ref), _id: trusted({ $gt: after }) }, { is_draft: 1, in_blog: 1 })
      .sort({ _id: 1 })
      .limit(STEP_MAX)
      .session(session)
      .lean();
    for (const [key, some] of Map.groupBy(rows, countKey)) {
      const ids = some.map(({ _id }) => _id);
      const change = { $set: visibility(flagsOf(key), ref, profile) };
      await posts.updateMany({ _id: trusted({ $in: ids }) }, change, { session });
    }
    return rows.length < STEP_MAX ? undefined : rows.at(-1)?._id;
  },
  recount: async (session, ref) => {
    const groups = await posts
      .aggregate<{ _id: PostFlags; count: number; newest: number }>([
        { $match: { profile_key: profileKey(ref) } },
        {
          $group: {
            _id: { is_draft: '$is_draft', in_blog: '$in_blog' },
            count: { $sum: 1 },
            newest: { $max: '$_id' },
          },
        },
      ])
      .session(session);
    const counts = { ...NO_POSTS };
    for (const { _id, count } of groups) counts[countKey(_id)] = count;
    return { counts, newest: Math.max(0, ...groups.map(({ newest }) => newest)) };
  },
  profiles: async () => {
    const groups = await posts.aggregate<{ _id: ProfileRef }>([
      { $group: { _id: { kind: '$profile_kind', id: '$profile_id' } } },
    ]);
    return groups.map(({ _id }) => _id);
  },
});

export const createPosts = (
  models: Models,
  counters: Pick<Counters, 'incrementPosts'>,
  transaction: Transaction,
  cache: ListCache | undefined,
): Posts => {
  const { posts, postTexts } = models;
  const texts = createRowTexts(postTexts, posts.collection, TEXTS, transaction);
  const lists = createLists(posts.collection, {
    keysOnly: ['facets'],
    grams: texts.grams,
    texts: TEXTS,
    nameField: 'profile_key',
    cache,
  });

  return {
    isPersonal: isPersonalPostField,
    find: createFind(models),
    findMany: async (ids) => {
      if (ids.length === 0) return [];
      const rows = await posts.find({ _id: trusted({ $in: [...ids] }) }, { facets: 0 }).lean();
      const byId = new Map(rows.filter(({ gone }) => !gone).map((row) => [row._id, fromDocument(row)]));
      return ids.map((id) => byId.get(id)).filter((post) => post !== undefined);
    },
    ...createWrites(models, texts),
    cachedCount: (facets, versions) => lists.cachedCount({ facets }, versions),
    list: async ({ facets, search, ...query }, slice) => {
      const keys = facets.map((one) => ({ facets: one }));
      const listed = await lists.read({ ...query, keys, search: searchIn(TEXTS, search) }, slice);
      return { ...listed, rows: listed.rows.map((row) => fromDocument(row as unknown as PostDocument)) };
    },
    saveMedia: createSaveMedia(posts, (session, id) =>
      counters.incrementPosts(session, {}, { shardKey: id, changed: [id] }),
    ),
    allIds: async () => (await posts.find({}, { _id: 1 }).lean()).map(({ _id }) => _id),
    removeTexts: texts.removeSome,
    goneIds: async (limit) => {
      const rows = await posts.find({ facets: GONE_FACET }, { _id: 1 }).limit(limit).lean();
      return rows.map(({ _id }) => _id);
    },
    reindex: texts.reindex,
    ...createProfileQueries(models),
  };
};
