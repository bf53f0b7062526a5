import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { roleSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { ManageRoles } from '../app/manage-roles.ts';
import { toRole } from '../app/user-resource.ts';

export const getRoles = (manageRoles: ManageRoles, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/roles',
    summary: 'Roles and what they allow',
    tag: 'roles',
    access: 'user',
    permissions: ['roles.manage'],
    query: z.object(pageQuery),
    responses: { 200: listOf(roleSchema) },
    handle: async ({ query, url }) => {
      const request = toPageRequest(query);
      const page = await manageRoles.list(request);
      return ok(listBody({ baseUrl, url, request, page, data: page.rows.map(toRole) }));
    },
  });
