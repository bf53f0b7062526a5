/**
 * Writes many posts as content stores them, with grams, counters and copies of their files, and the files as media stores them.
 */
import { createHash } from 'node:crypto';
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { formatTimestamp, systemClock } from '@fitness/shared/kernel/clock.ts';
import { documentGrams } from '@fitness/shared/kernel/text-search.ts';
import { toTextDocuments } from '@fitness/shared/lists/texts.ts';
import { type Post, pickPostFields } from '../services/content/src/domain/post.ts';
import { countKey, totalKey } from '../services/content/src/domain/post-lists.ts';
import { userProfile } from '../services/content/src/domain/profile.ts';
import { toPostDocument } from '../services/content/src/store/post-document.ts';
import { createStore, type Store } from '../services/content/src/store/store.ts';
import { targetKey } from '../services/media/src/domain/media.ts';
import { batches, insertAll, insertTexts, newestIn, openDatabase, raiseSequence } from './seed-rows.ts';

/** Number of files of each post. */
export const FILES_OF_A_POST = 2;

/** Ids above those that the product assigns during a run. */
const FIRST_FILE_ID = 1_000_000_000;
/** Words that each occur in about a quarter of the posts. */
export const COMMON_WORDS = (
  'باشگاه تمرین تغذیه برنامه حرکت وزن روزانه مربی ورزشکار سلامت شکم بازو پا سینه کتف تعادل استراحت ' +
  'strength mobility cardio meal plan morning stretch protein squat bench deadlift recovery week coach member'
).split(' ');

/** One in this many posts is a draft. */
const DRAFT_EVERY = 20;
/** Number of consecutive posts that share rare words; each word is in one of `DRAFT_EVERY` of them. */
const BLOCK = 1_000;
/** Number of posts that contain a given rare word. */
export const RARE_WORD_MATCHES = BLOCK / DRAFT_EVERY;
const RARE_WORDS_OF_A_BLOCK = DRAFT_EVERY - 1;
const CONSONANTS = 'bcdfghjklmnpqrstvwxz';
const RARE_WORD_LENGTH = 6;

/** `count` values in [0, `limit`) from a linear congruential generator. The same seed gives the same values. */
const randomNumbers = (seed: number, count: number, limit: number): number[] => {
  let state = seed * 2_654_435_761;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  });
};

/** `count` of the `items` in random order. Some may be missing, and some may repeat. */
export const draw = <Item>(items: readonly Item[], count: number): Item[] =>
  randomNumbers(1, count, items.length).flatMap((index) => items[index] ?? []);

const textOf = (id: number, words: number): string =>
  randomNumbers(id, words, COMMON_WORDS.length)
    .map((index) => COMMON_WORDS[index])
    .join(' ');

const rareWord = (index: number): string =>
  randomNumbers(index + 1, RARE_WORD_LENGTH, CONSONANTS.length)
    .map((letter) => CONSONANTS[letter])
    .join('');

/** Words without a vowel, each in `RARE_WORD_MATCHES` of the first `posts` posts. More posts have more words. */
export const rareWords = (posts: number): string[] =>
  Array.from({ length: Math.floor(posts / BLOCK) * RARE_WORDS_OF_A_BLOCK }, (_, index) => rareWord(index));

const isDraft = (id: number): boolean => id % DRAFT_EVERY === 0;

const rareWordOf = (id: number): string =>
  rareWord(Math.floor(id / BLOCK) * RARE_WORDS_OF_A_BLOCK + (id % DRAFT_EVERY) - 1);

const postTarget = (id: number) => ({ attachable_type: 'App\\Models\\Posts\\Post', attachable_id: id });

/** Fields that media and the post's copy have in common. */
const fileOf = (postId: number, index: number, created_at: Date) => {
  const id = FIRST_FILE_ID + postId * FILES_OF_A_POST + index;
  return { id, filename: `photo-${index}.webp`, mime_type: 'image/webp', size: 80_000 + id, created_at };
};

const filesOf = (postId: number, created_at: Date) =>
  Array.from({ length: FILES_OF_A_POST }, (_, index) => fileOf(postId, index, created_at));

/** The post's copy of its files. Each attachment was one change. */
const mediaOf = (postId: number, written: Date): MediaCopy => ({
  version: FILES_OF_A_POST,
  files: filesOf(postId, written).map((file) => ({ ...file, created_at: formatTimestamp(file.created_at) })),
});

/** A post on the profile of one of the users, always the same for the same id. */
export const postOf = (id: number, userIds: readonly number[]): Post => {
  const written = new Date(Date.UTC(2026, 0, 1) + id * 1_000);
  const userId = userIds[id % userIds.length] ?? 0;
  return {
    id,
    profile: userProfile(userId).ref,
    ...pickPostFields({
      title: textOf(id, 3),
      content: isDraft(id) ? `${textOf(id + 1, 8)} ${id}` : `${textOf(id + 1, 7)} ${rareWordOf(id)} ${id}`,
      is_draft: isDraft(id),
      in_blog: id % 4 === 0,
    }),
    owner_user_id: userId,
    is_public: !isDraft(id),
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

/** The files of a post as media stores them. */
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

const toTexts = ({ id, title, content }: Post) => toTextDocuments(id, documentGrams([title, content]));

const toAttachmentGuard = ({ id, media }: Post) => ({
  _id: targetKey(postTarget(id)),
  shut: false,
  passed: media.version,
});

/**
 * Writes posts on the profiles of these users, from the largest stored id up to `newest`. The files have rows but no bytes, because
 * lists do not read bytes.
 */
export const seedPosts = async (newest: number, userIds: readonly number[]): Promise<void> => {
  const content = await openDatabase('content');
  const media = await openDatabase('media');
  const store = createStore(content, systemClock);
  for (const id of userIds) {
    const { ref, state } = userProfile(id);
    await store.profiles.insertIfMissing(ref, { state, version: 0 });
  }
  // There is one writer, because two would conflict in the index of the grams and take longer.
  for (const ids of batches((await newestIn(content, 'posts')) + 1, newest + 1)) {
    const posts = ids.map((id) => postOf(id, userIds));
    const documents = posts.map((post) => toPostDocument(post, userProfile(post.profile.id).state));
    await insertAll(content, 'posts', documents);
    await insertTexts(content, 'posts_texts', posts, toTexts);
    await insertAll(media, 'media', posts.flatMap(toMediaDocuments));
    await insertAll(media, 'media_gates', posts.map(toAttachmentGuard));
    await countPosts(store, posts);
  }
  await raiseSequence(content, 'posts', newest);
  await content.close();
  await media.close();
};
