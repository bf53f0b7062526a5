import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { postSchema } from '../app/resources.ts';
import type { UseCases } from '../app/use-cases.ts';
import { contentField, titleField } from './fields.ts';

export const putPost = ({ updatePost }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/posts/:id',
    summary: 'Change an own post; only what is given changes',
    tag: 'posts',
    access: 'user',
    permissions: ['posts.create', 'posts.update_any'],
    params: idParams,
    body: z.object({
      title: titleField.optional(),
      content: contentField.optional(),
      is_draft: z.boolean().optional(),
      in_blog: z.boolean().optional(),
    }),
    responses: { 200: z.object({ data: postSchema }) },
    handle: async ({ caller, params, body }) => {
      const { title, content, is_draft, in_blog } = body;
      const change = { title, content, isDraft: is_draft, inBlog: in_blog };
      return ok({ data: await updatePost(caller, params.id, change) });
    },
  });
