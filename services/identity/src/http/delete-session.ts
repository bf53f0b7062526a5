import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteSessionRoute = ({ revokeSession }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/auth/sessions/:id',
    summary: 'Sign out of a session',
    description:
      'Ends one of your sessions, which may be the one that makes the request. Every later request with its token returns 401.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await revokeSession(caller.userId, params.id);
      return noContent();
    },
  });
