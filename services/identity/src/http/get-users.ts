import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryBoolean } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getUsersRoute = (
  { listUsers, presentUsers }: Pick<UseCases, 'listUsers' | 'presentUsers'>,
  baseUrl: string,
): Route =>
  defineRoute({
    method: 'GET',
    path: '/users',
    summary: 'Accounts, newest first',
    description:
      '`search` matches a part of the user name, first or last name; with `users.view_all` of e-mail and phone, too, and a complete phone in every spelling that a log-in takes. `role` (name or id) and `deletion_pending` need `users.view_all`.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.view_limited', 'users.view_all'],
    fieldPermissions: { role: 'users.view_all', deletion_pending: 'users.view_all' },
    query: z.object({
      ...pageQuery,
      search: z.string().max(255).optional(),
      is_trainer: queryBoolean.optional(),
      order: z.enum(['ASC', 'DESC']).optional(),
      role: z.string().min(1).max(100).optional(),
      deletion_pending: queryBoolean.optional(),
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
