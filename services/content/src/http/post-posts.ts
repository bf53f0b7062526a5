import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { postSchema } from '../app/resources.ts';
import type { UseCases } from '../app/use-cases.ts';
import { kindOf, PROFILE_TYPES } from '../domain/profile.ts';
import { contentField, titleField } from './fields.ts';

export const postPosts = ({ createPost }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/posts',
    summary: 'Write a post on the own profile or an own gym',
    tag: 'posts',
    access: 'user',
    permissions: ['posts.create'],
    body: z.object({
      profile_type: z.enum(PROFILE_TYPES),
      profile_id: z.int().positive(),
      title: titleField,
      content: contentField,
      is_draft: z.boolean().default(false),
      in_blog: z.boolean().default(false),
    }),
    responses: { 201: z.object({ data: postSchema }) },
    handle: async ({ caller, body }) => {
      const { title, content, is_draft, in_blog } = body;
      const profile = { kind: kindOf(body.profile_type), id: body.profile_id };
      const data = await createPost(caller, profile, { title, content, isDraft: is_draft, inBlog: in_blog });
      return created({ data });
    },
  });
