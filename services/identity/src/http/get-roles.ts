import { roleSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import { toRole } from '../app/roles/role-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getRolesRoute = ({ listRoles }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/roles',
    summary: 'List roles',
    description:
      'Returns the roles with their permissions, in the order of their ids. Requires `roles.manage`.',
    tag: 'roles',
    pages: ['ops'],
    access: 'user',
    permissions: ['roles.manage'],
    query: z.object(pageQuery),
    responses: { 200: listOf(roleSchema) },
    handle: async ({ query, url }) => {
      const request = toPageRequest(query, url);
      const page = await listRoles(request);
      return ok(listBody({ baseUrl, url, request, page, data: page.rows.map(toRole) }));
    },
  });
