import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';
import { deletionBlockedSchema } from './deletion-blocked.ts';

export const deleteUserRoute = ({ deleteUser }: Pick<UseCases, 'deleteUser'>): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/users/:id',
    summary: 'Erase an account at once, as an operator',
    description:
      'You cannot delete your own account here. The account of another operator needs `roles.manage`. The deletion blockers apply as to a deletion by the owner.',
    tag: 'users',
    access: 'user',
    permissions: ['users.delete'],
    audits: ['user.delete'],
    params: idParams,
    responses: { 204: null, 409: deletionBlockedSchema },
    handle: async ({ caller, params }) => {
      await deleteUser(caller, params.id);
      return noContent();
    },
  });
