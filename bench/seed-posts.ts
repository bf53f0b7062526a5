/**
 * Writes many posts as content stores them, with grams, counters and the copies of their files, and the files as media does.
 */
import { createHash } from 'node:crypto';
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Post } from '../services/content/src/domain/post.ts';
import { countKey, totalKey } from '../services/content/src/domain/post-lists.ts';
import { userProfile } from '../services/content/src/domain/profile.ts';
import { toPostDocument } from '../services/content/src/store/posts.ts';
import { createStore, type Store } from '../services/content/src/store/store.ts';
import { targetKey } from '../services/media/src/domain/media.ts';
import { batches, databaseOf, insertAll, type OnWritten, openDatabase } from './seed-rows.ts';

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
  /** Writes posts from the largest stored id up to `newest`. `onWritten` gets the number of each batch. */
  upTo(newest: number, onWritten: OnWritten): Promise<void>;
  close(): Promise<void>;
}

/** Of each post. */
export const FILES_OF_A_POST = 2;

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

const postTarget = (id: number) => ({ attachable_type: 'App\\Models\\Posts\\Post', attachable_id: id });

/** What media and the copy at the post have in common. */
const fileOf = (postId: number, index: number, created_at: Date) => {
  const id = FIRST_FILE_ID + postId * FILES_OF_A_POST + index;
  return { id, filename: `photo-${index}.webp`, mime_type: 'image/webp', size: 80_000 + id, created_at };
};

const filesOf = (postId: number, created_at: Date) =>
  Array.from({ length: FILES_OF_A_POST }, (_, index) => fileOf(postId, index, created_at));

/** Each attachment was one change. */
const mediaOf = (postId: number, written: Date): MediaCopy => ({
  version: FILES_OF_A_POST,
  files: filesOf(postId, written).map((file) => ({ ...file, created_at: formatTimestamp(file.created_at) })),
});

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
    media: mediaOf(id, written),
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

/** As media stores the files of a post. */
const toMediaDocuments = ({ id: postId, owner_user_id, created_at }: Post) =>
  filesOf(postId, created_at).map(({ id, ...file }) => ({
    _id: id,
    ...postTarget(postId),
    target: targetKey(postTarget(postId)),
    public_target: targetKey(postTarget(postId)),
    purpose: null,
    ...file,
    sha256: createHash('sha256').update(String(id)).digest('hex'),
    storage_key: `bench-${id}`,
    uploaded_by: owner_user_id,
  }));

const toAttachmentGuard = ({ id, media }: Post) => ({
  _id: targetKey(postTarget(id)),
  shut: false,
  passed: media.version,
});

/** The files have rows only, no bytes: lists do not read them. */
export const openPostSeeder = async (seed: PostSeed): Promise<PostSeeder> => {
  const connection = await openDatabase(databaseOf('content'));
  const mediaDatabase = await openDatabase(databaseOf('media'));
  const store = createStore(connection);
  const posts = connection.collection<{ _id: number }>('posts');
  for (const id of seed.userIds) {
    const { ref, state } = userProfile(id);
    await store.profiles.insertIfMissing(ref, { state, version: 0 });
  }
  const sequence = connection.collection<{ _id: string; value: number }>('sequences');
  return {
    upTo: async (newest, onWritten) => {
      const [last] = await posts
        .find({}, { projection: { _id: 1 } })
        .sort({ _id: -1 })
        .limit(1)
        .toArray();
      // One writer: two of them conflict in the index of the grams, and take longer.
      for (const ids of batches((last?._id ?? 0) + 1, newest + 1)) {
        const batch = ids.map((id) => postOf(id, seed));
        await insertAll(
          connection,
          'posts',
          batch.map((post) => toPostDocument(post, userProfile(post.profile.id).state)),
        );
        await insertAll(mediaDatabase, 'media', batch.flatMap(toMediaDocuments));
        await insertAll(mediaDatabase, 'media_gates', batch.map(toAttachmentGuard));
        await countPosts(store, batch);
        onWritten(ids.length);
      }
      await sequence.updateOne({ _id: 'posts' }, { $max: { value: newest } }, { upsert: true });
    },
    close: async () => {
      await connection.close();
      await mediaDatabase.close();
    },
  };
};
