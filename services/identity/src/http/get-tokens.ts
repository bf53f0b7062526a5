import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import type { PersonalTokens } from '../app/personal-tokens.ts';
import { personalTokenSchema, TOKEN_MAKERS, toPersonalToken } from './personal-token.ts';

export const getTokens = (personalTokens: PersonalTokens, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/auth/tokens',
    summary: 'The own personal access tokens',
    tag: 'auth',
    access: 'user',
    tokenKinds: TOKEN_MAKERS,
    query: z.object(pageQuery),
    responses: { 200: listOf(personalTokenSchema) },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query);
      const page = await personalTokens.list(caller, request);
      return ok(listBody({ baseUrl, url, request, page, data: page.rows.map(toPersonalToken) }));
    },
  });
