import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';
import { deletionBlockedSchema } from './deletion-blocked.ts';

export const deleteUserRoute = ({ deleteUser }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/users/:id',
    summary: 'Delete a user immediately',
    description:
      'Erases the account of another user at once, without a grace period. Requires `users.delete`, and `roles.manage` ' +
      'for the account of another operator. While anything blocks a deletion by the owner, the response is 409 with ' +
      'every blocker and nothing changes; while nobody else can manage roles, `error` says so and `blockers` is empty. Returns 403 for your own account, and for ' +
      'an account with a permission that you lack.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.delete'],
    audits: ['user.delete'],
    params: idParams,
    errorCodes: { 409: ['account_deletion_blocked'] },
    responses: { 204: null, 409: deletionBlockedSchema },
    handle: async ({ caller, params }) => {
      await deleteUser(caller, params.id);
      return noContent();
    },
  });
