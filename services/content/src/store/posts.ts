/** The posts. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { createListReader, type Listed, type Slice } from '@fitness/shared/mongo/list-reader.ts';
import {
  COUNT_KEYS,
  countKey,
  facetsOf,
  flagsOf,
  GONE_FACET,
  isPublicPost,
  NO_POSTS,
  type Post,
  type ProfileCounts,
} from '../domain/post.ts';
import { type ProfileRef, type ProfileState, profileKey } from '../domain/profile.ts';
import { type FacetQuery, inFacets } from './facets.ts';
import { gramsOf, sameWords } from './grams.ts';
import type { Models, PostDocument } from './models.ts';

/** What a writer decides; the rest follows from it and from the profile. */
export type PostContent = Pick<Post, 'title' | 'content' | 'isDraft' | 'inBlog'>;

interface PostPage extends Omit<Listed, 'rows'> {
  rows: Post[];
}

export interface Posts {
  find(id: number, session?: ClientSession): Promise<Post | undefined>;
  /** In the order of `ids`; those that are not there, or gone, are missing. */
  findMany(ids: readonly number[]): Promise<Post[]>;
  insert(session: ClientSession, post: Post, profile: ProfileState): Promise<void>;
  /** The post with this content, as its profile shows it. */
  write(
    session: ClientSession,
    post: Post,
    content: PostContent,
    profile: ProfileState,
    now: Date,
  ): Promise<Post>;
  /** The post that was there; undefined when there was none. */
  remove(session: ClientSession, id: number): Promise<Post | undefined>;
  /** Shows or hides every post of a profile, as its state now says. */
  reclassify(session: ClientSession, ref: ProfileRef, profile: ProfileState): Promise<void>;
  list(query: FacetQuery, slice: Slice): Promise<PostPage>;
  /** Posts whose profile is gone, to be deleted. */
  goneIds(limit: number): Promise<number[]>;
  /** Counted one by one, to put the counters right. */
  recount(session: ClientSession, ref: ProfileRef): Promise<{ counts: ProfileCounts; newest: number }>;
  /** Writes anew the grams of every post that has others; reads the whole collection. */
  reindex(): Promise<void>;
  /** Every profile that has posts; reads the whole collection. */
  profiles(): Promise<ProfileRef[]>;
}

const toPost = (found: Omit<PostDocument, 'facets' | 'grams'>): Post => ({
  id: found._id,
  profile: { kind: found.profile_kind, id: found.profile_id },
  title: found.title,
  content: found.content,
  isDraft: found.is_draft,
  inBlog: found.in_blog,
  ownerUserId: found.owner_user_id,
  isPublic: found.is_public,
  gone: found.gone,
  createdAt: found.created_at,
  updatedAt: found.updated_at,
  version: found.version,
});

/** What follows from the state of the profile. */
const standing = (
  flags: Pick<Post, 'isDraft' | 'inBlog'>,
  ref: ProfileRef,
  profile: ProfileState,
): Pick<PostDocument, 'owner_user_id' | 'is_public' | 'gone' | 'facets'> => ({
  owner_user_id: profile.ownerUserId,
  is_public: isPublicPost(flags, profile),
  gone: profile.gone,
  facets: facetsOf(flags, ref, profile),
});

const writable = ({ title, content, isDraft, inBlog }: PostContent) => ({
  title,
  content,
  is_draft: isDraft,
  in_blog: inBlog,
});

/** A post as it is stored: with the lists that it belongs to, and the grams of its texts. */
export const postDocument = (post: Post, profile: ProfileState): PostDocument => ({
  _id: post.id,
  profile_key: profileKey(post.profile),
  profile_kind: post.profile.kind,
  profile_id: post.profile.id,
  ...writable(post),
  ...standing(post, post.profile, profile),
  grams: gramsOf(post.title, post.content),
  created_at: post.createdAt,
  updated_at: post.updatedAt,
  version: post.version,
});

export const createPosts = ({ posts }: Models): Posts => {
  const reader = createListReader(posts.collection, { texts: ['title', 'content'], accepted: ['facets'] });
  return {
    find: async (id, session) => {
      const found = await posts
        .findById(id, { facets: 0, grams: 0 })
        .session(session ?? null)
        .lean();
      return found === null ? undefined : toPost(found);
    },
    findMany: async (ids) => {
      if (ids.length === 0) return [];
      const found = await posts.find({ _id: trusted({ $in: [...ids] }) }, { facets: 0, grams: 0 }).lean();
      const byId = new Map(found.filter(({ gone }) => !gone).map((row) => [row._id, toPost(row)]));
      return ids.map((id) => byId.get(id)).filter((post) => post !== undefined);
    },
    insert: async (session, post, profile) => {
      await posts.create([postDocument(post, profile)], { session });
    },
    write: async (session, post, content, profile, now) => {
      const sameText = content.title === post.title && content.content === post.content;
      const change = {
        ...writable(content),
        ...standing(content, post.profile, profile),
        ...(sameText ? {} : { grams: gramsOf(content.title, content.content) }),
        updated_at: now,
      };
      const written = await posts
        .findOneAndUpdate(
          { _id: post.id },
          { $set: change, $inc: { version: 1 } },
          { session, returnDocument: 'after' },
        )
        .select({ facets: 0, grams: 0 })
        .lean();
      if (written === null) throw new Error(`Post ${post.id} vanished inside a transaction`);
      return toPost(written);
    },
    remove: async (session, id) => {
      const removed = await posts
        .findOneAndDelete({ _id: id }, { session })
        .select({ facets: 0, grams: 0 })
        .lean();
      return removed === null ? undefined : toPost(removed);
    },
    reclassify: async (session, ref, profile) => {
      for (const key of COUNT_KEYS) {
        const flags = flagsOf(key);
        await posts.updateMany(
          { profile_key: profileKey(ref), is_draft: flags.isDraft, in_blog: flags.inBlog },
          { $set: standing(flags, ref, profile) },
          { session },
        );
      }
    },
    list: async (query, slice) => {
      const listed = await reader.read(inFacets(query), slice);
      return { ...listed, rows: (listed.rows as unknown as PostDocument[]).map(toPost) };
    },
    goneIds: async (limit) => {
      const found = await posts.find({ facets: GONE_FACET }, { _id: 1 }).limit(limit).lean();
      return found.map(({ _id }) => _id);
    },
    recount: async (session, ref) => {
      const groups = await posts
        .aggregate<{ _id: { isDraft: boolean; inBlog: boolean }; count: number; newest: number }>([
          { $match: { profile_key: profileKey(ref) } },
          {
            $group: {
              _id: { isDraft: '$is_draft', inBlog: '$in_blog' },
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
    reindex: async () => {
      const all = posts.find({}, { title: 1, content: 1, grams: 1, version: 1 }).lean();
      for await (const { _id, title, content, grams, version } of all.cursor()) {
        const fresh = gramsOf(title, content);
        if (sameWords(grams, fresh)) continue;
        // A post that was changed meanwhile has the grams of its new text.
        await posts.updateOne({ _id, version }, { $set: { grams: fresh } });
      }
    },
    profiles: async () => {
      const groups = await posts.aggregate<{ _id: ProfileRef }>([
        { $group: { _id: { kind: '$profile_kind', id: '$profile_id' } } },
      ]);
      return groups.map(({ _id }) => _id);
    },
  };
};
