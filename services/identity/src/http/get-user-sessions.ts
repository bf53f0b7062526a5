import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { loginSessionSchema, toLoginSession } from '../app/sign-in/session-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getUserSessionsRoute = ({ getUser, listSessions }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/users/:id/sessions',
    summary: 'List a user’s sessions',
    description:
      'Returns the sessions in which a user is signed in, newest first, with their addresses and devices. Requires ' +
      '`users.view_all`.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.view_all'],
    tokenKinds: SESSION_ONLY,
    params: idParams,
    query: z.object(pageQuery),
    responses: { 200: listOf(loginSessionSchema) },
    handle: async ({ caller, params, query, url }) => {
      const request = toPageRequest(query, url);
      const { _id: userId } = await getUser(params.id);
      const page = await listSessions(userId, request);
      const data = page.rows.map((row) => toLoginSession(row, caller.tokenId));
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
