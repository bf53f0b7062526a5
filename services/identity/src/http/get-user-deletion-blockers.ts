import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { toBlocker } from '../app/deletion/deletion-blockers.ts';
import type { UseCases } from '../use-cases.ts';
import { blockerSchema } from './deletion-blocked.ts';

export const getUserDeletionBlockersRoute = ({ getUserDeletionBlockers }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/users/:id/deletion-blockers',
    summary: 'List what blocks a deletion',
    description:
      'Returns everything that blocks the deletion of a user at the moment, as the 409 of `DELETE /users/{id}` would; ' +
      '`data` is empty when nothing does. Changes nothing. Requires `users.delete`, and `roles.manage` for the account of ' +
      'another operator. Returns 403 for an account with a permission that you lack, and 503 while a blocker cannot be ' +
      'evaluated.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.delete'],
    params: idParams,
    responses: {
      200: z
        .object({
          data: z.array(blockerSchema).describe('What blocks the deletion; empty when nothing does'),
        })
        .meta({ id: 'DeletionBlockers' }),
    },
    handle: async ({ caller, params, t }) => {
      const applied = await getUserDeletionBlockers(caller, params.id);
      return ok({ data: applied.map((blocker) => toBlocker(blocker, t)) });
    },
  });
