import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { FIRST_PARTY } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteTokenRoute = ({ revokePersonalToken }: Pick<UseCases, 'revokePersonalToken'>): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/auth/tokens/:id',
    summary: 'Revoke a personal access token',
    tag: 'auth',
    access: 'user',
    tokenKinds: FIRST_PARTY,
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await revokePersonalToken(caller, params.id);
      return noContent();
    },
  });
