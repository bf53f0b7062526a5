/** Posts and their grams, and the read model of the profiles that they belong to. */
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { textSchema } from '@fitness/shared/lists/texts.ts';
import { erase, personalFieldsOf, pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { Schema } from 'mongoose';
import type { PostFields } from '../../domain/post.ts';
import type { ProfileCounts } from '../../domain/post-lists.ts';
import type { ProfileKind } from '../../domain/profile.ts';
import { date, flag, number, settings, text } from './fields.ts';

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

export const postSchema = schemaOf<PostDocument>(
  settings('posts'),
  erase('a post of an erased account is deleted', {
    _id: number,
    title: text,
    content: text,
    facets: { type: [String], required: true },
    profile_key: text,
    profile_kind: text,
    profile_id: number,
    owner_user_id: { type: Number, default: null },
    is_public: flag,
    gone: flag,
    is_draft: flag,
    in_blog: flag,
    created_at: date,
    updated_at: date,
    version: number,
    media: Schema.Types.Mixed,
  }),
)
  .index({ facets: 1, _id: -1 })
  .index({ profile_key: 1, _id: 1 });

export const postTextSchema = textSchema('posts_texts', erase, 'deleted with its post');

const countsSchema = new Schema<ProfileCounts>(
  { published_blog: number, published_regular: number, draft_blog: number, draft_regular: number },
  { _id: false },
);

export const profileSchema = schemaOf<ProfileDocument>(
  { ...settings('profiles'), nested: { counts: { type: countsSchema, required: true } } },
  pseudonymise('the number of the account or gym', {
    _id: text,
    profile_id: number,
    owner_user_id: { type: Number, default: null },
  }),
  retain('the deletion mark: late events do not bring the profile back', {
    kind: text,
    is_active: flag,
    gone: flag,
    version: number,
  }),
  retain('how far a change of its posts has come', { moved_through: Number }),
  retain('counters', { newest: number, pins: Number }, 'counts.published_blog', 'counts.published_regular'),
  retain('counters', 'counts.draft_blog', 'counts.draft_regular'),
).index({ owner_user_id: 1 });

export const isPersonalPostField = personalFieldsOf(postSchema);
