import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { disconnectSignal } from '@fitness/shared/http/disconnect-signal.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryBoolean } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { postSchema } from '../app/post-resource.ts';
import type { UseCases } from '../use-cases.ts';
import { idsQuery, profileTypesQuery, searchQuery } from './query.ts';

export const getPostsRoute = ({ listPosts }: Pick<UseCases, 'listPosts'>, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/posts',
    summary: 'Posts, newest first',
    description:
      'Published posts of public profiles; with `posts.view` also your own, drafts included; with `posts.view_all` ' +
      'all.',
    tag: 'posts',
    access: 'guest',
    permissions: ['posts.view', 'posts.view_all'],
    query: z.object({
      type: profileTypesQuery.optional(),
      item_id: idsQuery.optional(),
      in_blog: queryBoolean.optional(),
      search: searchQuery.optional(),
      order: z.enum(['ASC', 'DESC']).default('DESC'),
      ...pageQuery,
    }),
    errorStatuses: [404],
    responses: { 200: listOf(postSchema) },
    handle: async ({ caller, query, url, reply }) => {
      const request = toPageRequest(query, url, { signal: disconnectSignal(reply) });
      const { type, item_id, in_blog, search, order } = query;
      const { page, data } = await listPosts(
        caller,
        { kinds: type, itemIds: item_id, inBlog: in_blog, search, order },
        request,
      );
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
