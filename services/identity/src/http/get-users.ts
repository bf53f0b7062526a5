import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryBoolean } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getUsersRoute = ({ listUsers, presentUsers }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/users',
    summary: 'List users',
    description:
      'Returns users, newest first unless `order` says otherwise. Users whose deletion is scheduled are left out ' +
      'unless you hold `users.view_all`. Requires `users.view_limited` or `users.view_all`.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.view_limited', 'users.view_all'],
    fieldPermissions: { role: 'users.view_all', deletion_pending: 'users.view_all' },
    query: z.object({
      ...pageQuery,
      search: z
        .string()
        .max(255)
        .optional()
        .meta({
          description:
            'Part of the username, first name or last name. With `users.view_all` also part of the email address or phone number, and a ' +
            'complete phone number in any spelling that signing in accepts. Case, and variants of Persian and Arabic letters and ' +
            'digits, do not matter.',
        }),
      is_trainer: queryBoolean.optional(),
      order: z.enum(['ASC', 'DESC']).optional(),
      role: z.string().min(1).max(100).optional().meta({
        description: 'Only users with the role of this name or id. Requires `users.view_all`.',
      }),
      deletion_pending: queryBoolean.optional().meta({
        description:
          'True: only users whose deletion is scheduled. False: only the others. Requires `users.view_all`.',
      }),
    }),
    responses: { 200: listOf(userSchema) },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query, url);
      const { search, is_trainer, order, role, deletion_pending: deletionPending } = query;
      const page = await listUsers(
        caller,
        { search, isTrainer: is_trainer, order, role, deletionPending },
        request,
      );
      const data = await presentUsers(page.rows, caller);
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
