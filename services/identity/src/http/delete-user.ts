import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { DeleteUser } from '../app/delete-user.ts';
import { blockedSchema } from './blocked.ts';

export const deleteUser = (remove: DeleteUser): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/users/:id',
    summary: 'Erase an account at once, as an operator',
    description: 'Not the own one. What blocks its owner blocks the operator too.',
    tag: 'users',
    access: 'user',
    permissions: ['users.delete'],
    params: idParams,
    responses: { 204: null, 409: blockedSchema },
    handle: async ({ caller, params }) => {
      await remove(caller, params.id);
      return noContent();
    },
  });
