import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams, wellFormed } from '@fitness/shared/http/validation.ts';
import { userSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { AdministerUsers } from '../app/administer-users.ts';
import type { UserPresenter } from '../app/user-resource.ts';
import { profileShape } from './fields.ts';

export const putUser = (administerUsers: AdministerUsers, presenter: UserPresenter): Route =>
  defineRoute({
    method: 'PUT',
    path: '/users/:id',
    summary: 'Change an account as an operator',
    description:
      'Only the given fields change. Clearing the licence document wins over a review sent with it. An account, or a role, with a permission that the caller lacks: 403.',
    tag: 'users',
    access: 'user',
    permissions: ['users.update_any'],
    mayRefuse: [409],
    params: idParams,
    body: z.object({
      ...profileShape,
      role_ids: z.array(z.int().positive()).max(100).optional(),
      trainer_license_approved: z.boolean().nullable().optional(),
      trainer_license_rejection_reason: wellFormed(z.string().trim().min(1).max(2_000)).nullable().optional(),
    }),
    responses: { 200: z.object({ user: userSchema }) },
    handle: async ({ caller, params, body }) => {
      const user = await administerUsers.update(caller, params.id, body);
      return ok({ user: await presenter.one(user, caller) });
    },
  });
