/** A post on the profile of a user or of a gym (specification 2.6). */

import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { oneLine, wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { isPublicProfile, type ProfileRef, type ProfileState } from './profile.ts';

/**
 * What the author writes. Requests, the stored document and responses have these fields under these names; a new one is
 * declared here and in `store/models.ts`.
 */
export const postFields = {
  title: z.string().meta({ description: 'Title of the post' }),
  content: z.string().meta({ description: 'Text of the post' }),
  is_draft: z.boolean().meta({ description: 'Whether the post is a draft, which the public does not see' }),
  in_blog: z.boolean().meta({ description: 'Whether the post is in the blog' }),
};

/** The same with the limits of a request. */
export const postInput = {
  ...postFields,
  title: oneLine('Title of the post', postFields.title.trim().min(1).max(255)),
  content: wellFormed(postFields.content.min(1).max(20_000)),
};

/** Of JSON with these texts at their longest: six bytes a character, as in `\u0627`. */
export const POST_BODY_BYTES = 128 * 1024;

const fieldsSchema = z.object(postFields);
export type PostFields = z.output<typeof fieldsSchema>;

/** The declared fields alone. */
export const pickPostFields = (source: PostFields): PostFields => fieldsSchema.parse(source);

export type PostFlags = Pick<PostFields, 'is_draft' | 'in_blog'>;

export interface Post extends PostFields {
  id: number;
  profile: ProfileRef;
  /** A copy of the profile's owner; the owning service decides who may edit. */
  owner_user_id: number | null;
  /** Published, on a public profile. */
  is_public: boolean;
  /** Its profile was deleted: nobody sees the post, and a job deletes it. */
  gone: boolean;
  created_at: Date;
  updated_at: Date;
  version: number;
  /** Its public files. */
  media: MediaCopy;
}

export const isPublicPost = (
  { is_draft }: Pick<PostFlags, 'is_draft'>,
  profile: Pick<ProfileState, 'isActive' | 'gone'>,
): boolean => !is_draft && isPublicProfile(profile);
