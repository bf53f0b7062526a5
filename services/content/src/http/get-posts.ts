import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { disconnectSignal } from '@fitness/shared/http/disconnect-signal.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryBoolean } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { postSchema } from '../app/post-resource.ts';
import type { UseCases } from '../use-cases.ts';
import { idsQuery, profileTypesQuery, searchQuery } from './query.ts';

export const getPostsRoute = ({ listPosts }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/posts',
    summary: 'List posts',
    description:
      'Returns the published posts of public profiles, newest first unless `order` says otherwise. With `posts.view` you ' +
      'also get your own posts, including drafts, and with `posts.view_all` all posts. `search` matches any part of the ' +
      'title or content. If `type` names one type of profile and you can see none of the profiles in `item_id`, the ' +
      'response is 404. Guests may list posts; signed-in users need `posts.view` or `posts.view_all`.',
    tag: 'posts',
    access: 'guest',
    permissions: ['posts.view', 'posts.view_all'],
    query: z.object({
      type: profileTypesQuery
        .optional()
        .meta({ description: 'Only posts on profiles of these types, separated by commas' }),
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
