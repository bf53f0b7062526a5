/** Posts and their grams, and the read model of the profiles that they belong to. */
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { erase, personalFieldsOf, privacy, pseudonymise, retain } from '@fitness/shared/mongo/privacy.ts';
import { Schema } from 'mongoose';
import type { PostFields } from '../../domain/post.ts';
import type { ProfileCounts } from '../../domain/post-lists.ts';
import type { ProfileKind } from '../../domain/profile.ts';
import { date, flag, number, settings, text, textSchema } from './fields.ts';

export interface PostDocument extends PostFields {
  _id: number;
  profile_key: string;
  profile_kind: ProfileKind;
  profile_id: number;
  owner_user_id: number | null;
  is_public: boolean;
  gone: boolean;
  /** The lists that the post belongs to. */
  facets: string[];
  created_at: Date;
  updated_at: Date;
  version: number;
  /** Missing from documents that an older release stored. */
  media?: MediaCopy;
}

/** The read model of gyms and accounts, and how many posts each has. */
export interface ProfileDocument {
  /** `gym:12`, `user:7` */
  _id: string;
  kind: ProfileKind;
  profile_id: number;
  owner_user_id: number | null;
  is_active: boolean;
  gone: boolean;
  /** Version of the last event or gRPC response that was stored. */
  version: number;
  counts: ProfileCounts;
  /** The largest id that a post of this profile ever had. */
  newest: number;
  /** The largest id of a post that has the state above. Missing once every post has it. */
  moved_through?: number;
  /** Incremented to write the document, so that a concurrent erasure conflicts; the value has no meaning. */
  pins?: number;
}

export const postSchema = new Schema<PostDocument>(
  {
    _id: number,
    profile_key: text,
    profile_kind: text,
    profile_id: number,
    owner_user_id: { type: Number, default: null },
    is_public: flag,
    gone: flag,
    title: text,
    content: text,
    is_draft: flag,
    in_blog: flag,
    facets: { type: [String], required: true },
    created_at: date,
    updated_at: date,
    version: number,
    media: Schema.Types.Mixed,
  },
  settings('posts'),
)
  .index({ facets: 1, _id: -1 })
  .index({ profile_key: 1, _id: 1 });

export const postTextSchema = textSchema('posts_texts');

const countsSchema = new Schema<ProfileCounts>(
  { published_blog: number, published_regular: number, draft_blog: number, draft_regular: number },
  { _id: false },
);

export const profileSchema = new Schema<ProfileDocument>(
  {
    _id: text,
    kind: text,
    profile_id: number,
    owner_user_id: { type: Number, default: null },
    is_active: flag,
    gone: flag,
    version: number,
    counts: { type: countsSchema, required: true },
    newest: number,
    moved_through: Number,
    pins: Number,
  },
  settings('profiles'),
).index({ owner_user_id: 1 });

privacy(
  postSchema,
  erase(
    'a post of an erased account is deleted',
    '_id',
    'title',
    'content',
    'facets',
    'profile_key',
    'profile_kind',
    'profile_id',
    'owner_user_id',
    'is_public',
    'gone',
    'is_draft',
    'in_blog',
    'created_at',
    'updated_at',
    'version',
    'media',
  ),
);

privacy(postTextSchema, erase('deleted with its post', '_id', 'row', 'grams'));

privacy(
  profileSchema,
  pseudonymise('the number of the account or gym', '_id', 'profile_id', 'owner_user_id'),
  retain(
    'the deletion mark: late events do not bring the profile back',
    'kind',
    'is_active',
    'gone',
    'version',
  ),
  retain('how far a change of its posts has come', 'moved_through'),
  retain('counters', 'newest', 'pins', 'counts.published_blog', 'counts.published_regular'),
  retain('counters', 'counts.draft_blog', 'counts.draft_regular'),
);

export const isPersonalPostField = personalFieldsOf(postSchema);
