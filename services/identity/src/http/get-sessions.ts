import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { loginSessionSchema, toLoginSession } from '../app/sign-in/session-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getSessionsRoute = ({ listSessions }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/auth/sessions',
    summary: 'List your sessions',
    description:
      'Returns the sessions in which you are signed in, newest first. `current` marks the one that makes the request.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    query: z.object(pageQuery),
    responses: { 200: listOf(loginSessionSchema) },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query, url);
      const page = await listSessions(caller.userId, request);
      const data = page.rows.map((row) => toLoginSession(row, caller.tokenId));
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
