/** Writes many posts with the store of content, counters included, and their files with the model of media. */
import { createHash } from 'node:crypto';
import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import type { Post } from '../services/content/src/domain/post.ts';
import { countKey, totalKey } from '../services/content/src/domain/post-lists.ts';
import { userProfile } from '../services/content/src/domain/profile.ts';
import { toPostDocument } from '../services/content/src/store/posts.ts';
import { createStore, type Store } from '../services/content/src/store/store.ts';
import { targetKey } from '../services/media/src/domain/media.ts';

export interface PostSeed {
  /** The users on whose profiles the posts are. */
  userIds: readonly number[];
  /** A word that no other post contains. */
  needle: string;
  /** One in this many of the first posts contains the needle. */
  needleEvery: number;
  /** How many posts do. */
  needles: number;
}

export interface PostSeeder {
  /** Writes posts from the largest stored id up to `newest`. */
  upTo(newest: number): Promise<void>;
  close(): Promise<void>;
}

/** Of each post. */
export const FILES_OF_A_POST = 2;

const BATCH = 1_000;
const WRITERS = 2;
/** Above those that the product gives during a run. */
const FIRST_FILE_ID = 1_000_000_000;
const WORDS = (
  'باشگاه تمرین تغذیه برنامه حرکت وزن روزانه مربی ورزشکار سلامت شکم بازو پا سینه کتف تعادل استراحت ' +
  'strength mobility cardio meal plan morning stretch protein squat bench deadlift recovery week coach member'
).split(' ');

/** The same text for the same id: a linear congruential generator picks the words. */
const textOf = (id: number, words: number): string => {
  let state = id * 2_654_435_761;
  return Array.from({ length: words }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return WORDS[(state >>> 8) % WORDS.length];
  }).join(' ');
};

/** The same post for the same id. */
export const postOf = (id: number, { userIds, needle, needleEvery, needles }: PostSeed): Post => {
  const written = new Date(Date.UTC(2026, 0, 1) + id * 1_000);
  const userId = userIds[id % userIds.length] ?? 0;
  return {
    id,
    profile: userProfile(userId).ref,
    title: textOf(id, 3),
    content:
      id % needleEvery === 1 && id <= needleEvery * needles
        ? `${textOf(id + 1, 6)} ${needle} ${id}`
        : `${textOf(id + 1, 8)} ${id}`,
    is_draft: id % 20 === 0,
    in_blog: id % 4 === 0,
    owner_user_id: userId,
    is_public: id % 20 !== 0,
    gone: false,
    created_at: written,
    updated_at: written,
    version: 1,
    media: NO_MEDIA,
  };
};

const countPosts = (store: Store, posts: readonly Post[]): Promise<void> =>
  store.transaction(async (session) => {
    for (const [userId, own] of Map.groupBy(posts, ({ profile }) => profile.id)) {
      const { ref, state } = userProfile(userId);
      const newest = Math.max(...own.map(({ id }) => id));
      for (const [key, some] of Map.groupBy(own, countKey))
        await store.profiles.incrementCounts(session, ref, { [key]: some.length }, newest);
      for (const [key, some] of Map.groupBy(own, (post) => totalKey(post, ref.kind, state)))
        await store.counters.incrementPosts(session, { [key]: some.length }, { shardKey: userId, newest });
    }
  });

const fileOf = (post: Post, index: number): Record<string, unknown> & { _id: number } => {
  const target = { attachable_type: 'App\\Models\\Posts\\Post', attachable_id: post.id };
  const id = FIRST_FILE_ID + post.id * FILES_OF_A_POST + index;
  return {
    _id: id,
    ...target,
    target: targetKey(target),
    public_target: targetKey(target),
    purpose: null,
    filename: `photo-${index}.webp`,
    mime_type: 'image/webp',
    size: 80_000 + id,
    sha256: createHash('sha256').update(String(id)).digest('hex'),
    storage_key: `bench-${id}`,
    uploaded_by: post.owner_user_id,
    created_at: post.created_at,
  };
};

/** The files have rows only, no bytes: lists do not read them. */
export const openPostSeeder = async (
  uri: string,
  databases: { content: string; media: string },
  seed: PostSeed,
): Promise<PostSeeder> => {
  const connection = await connectMongo({ uri, database: databases.content });
  const files = connection.getClient().db(databases.media).collection<{ _id: number }>('media');
  const store = createStore(connection);
  const posts = connection.collection<{ _id: number }>('posts');
  for (const id of seed.userIds) {
    const { ref, state } = userProfile(id);
    await store.profiles.insertIfMissing(ref, { state, version: 0 });
  }
  const sequence = connection.collection<{ _id: string; value: number }>('sequences');
  return {
    upTo: async (newest) => {
      const [last] = await posts
        .find({}, { projection: { _id: 1 } })
        .sort({ _id: -1 })
        .limit(1)
        .toArray();
      let from = (last?._id ?? 0) + 1;
      const writer = async () => {
        while (from <= newest) {
          const first = from;
          from += BATCH;
          const length = Math.min(BATCH, newest - first + 1);
          const batch = Array.from({ length }, (_, index) => postOf(first + index, seed));
          await posts.insertMany(
            batch.map((post) => toPostDocument(post, userProfile(post.profile.id).state)),
          );
          await files.insertMany(
            batch.flatMap((post) =>
              Array.from({ length: FILES_OF_A_POST }, (_, index) => fileOf(post, index)),
            ),
          );
          await countPosts(store, batch);
        }
      };
      await Promise.all(Array.from({ length: WRITERS }, writer));
      await sequence.updateOne({ _id: 'posts' }, { $max: { value: newest } }, { upsert: true });
    },
    close: () => connection.close(),
  };
};
