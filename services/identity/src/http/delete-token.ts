import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { PersonalTokens } from '../app/personal-tokens.ts';
import { TOKEN_MAKERS } from './personal-token.ts';

export const deleteToken = (personalTokens: PersonalTokens): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/auth/tokens/:id',
    summary: 'Revoke a personal access token',
    tag: 'auth',
    access: 'user',
    tokenKinds: TOKEN_MAKERS,
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await personalTokens.delete(caller, params.id);
      return noContent();
    },
  });
