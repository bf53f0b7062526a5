/** A post on the profile of a user or of a gym (specification 2.6). */

import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { oneLine, wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { isPublicProfile, type ProfileRef, type ProfileState } from './profile.ts';

/** The fields that the author writes. Requests, stored documents and responses use these names. */
export const postFields = {
  title: z.string().meta({ description: 'Title of the post' }),
  content: z.string().meta({ description: 'Text of the post' }),
  is_draft: z
    .boolean()
    .meta({ description: 'Whether the post is a draft, which the public does not see' })
    .default(false),
  in_blog: z.boolean().meta({ description: 'Whether the post is in the blog' }).default(false),
};

/** `postFields` with the limits of a request. */
export const postInput = {
  ...postFields,
  title: oneLine('Title of the post', postFields.title.trim().min(1).max(255)),
  content: wellFormed(postFields.content.min(1).max(20_000)),
};

/** Body limit that fits the longest texts as escaped JSON: six bytes per character, as in `\u0627`. */
export const POST_BODY_BYTES = 128 * 1024;

const fieldsSchema = z.object(postFields);
export type PostFields = z.output<typeof fieldsSchema>;

/** Only the declared fields, with the defaults of missing ones. */
export const pickPostFields = (source: z.input<typeof fieldsSchema>): PostFields =>
  fieldsSchema.parse(source);

export type PostFlags = Pick<PostFields, 'is_draft' | 'in_blog'>;

export interface Post extends PostFields {
  id: number;
  profile: ProfileRef;
  /** A copy of the profile's owner. The owning service decides who may edit. */
  owner_user_id: number | null;
  /** Whether the post is published on a public profile. */
  is_public: boolean;
  /** Whether its profile was deleted. Nobody sees the post then, and a job deletes it. */
  gone: boolean;
  created_at: Date;
  updated_at: Date;
  version: number;
  /** The public files of the post. */
  media: MediaCopy;
}

export const isPublicPost = (
  { is_draft }: Pick<PostFlags, 'is_draft'>,
  profile: Pick<ProfileState, 'isActive' | 'gone'>,
): boolean => !is_draft && isPublicProfile(profile);
