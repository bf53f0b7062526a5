import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { personalTokenSchema, toPersonalToken } from '../app/credentials/personal-token-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getTokensRoute = ({ listPersonalTokens }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/auth/tokens',
    summary: 'List your personal access tokens',
    description:
      'Returns your personal access tokens, newest first, without the tokens themselves: each is shown once, when it is created.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    query: z.object(pageQuery),
    responses: { 200: listOf(personalTokenSchema) },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query, url);
      const page = await listPersonalTokens(caller.userId, request);
      return ok(listBody({ baseUrl, url, request, page, data: page.rows.map(toPersonalToken) }));
    },
  });
