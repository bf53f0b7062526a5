import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { appGrantSchema, toAppGrant } from '../app/credentials/grant-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getGrantsRoute = ({ listGrants }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/auth/grants',
    summary: 'List your connected apps',
    description:
      'Returns the apps that you have allowed to use your account at `/oauth/authorize` and have not disconnected, newest first.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    query: z.object(pageQuery),
    responses: { 200: listOf(appGrantSchema) },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query, url);
      const page = await listGrants(caller.userId, request);
      const data = page.rows.map((row) => toAppGrant(row, page.clients, baseUrl));
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
