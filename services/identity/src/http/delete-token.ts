import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteTokenRoute = ({ revokePersonalToken }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/auth/tokens/:id',
    summary: 'Revoke a personal access token',
    description: 'Revokes one of your personal access tokens. Every later request with it returns 401.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await revokePersonalToken(caller.userId, params.id);
      return noContent();
    },
  });
