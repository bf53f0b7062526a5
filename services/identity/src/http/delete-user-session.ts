import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParam } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const deleteUserSessionRoute = ({ endUserSession }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/users/:id/sessions/:session_id',
    summary: 'Revoke a user’s session',
    description:
      'Ends one session of another user, for example on a lost device. Every later request with its token returns 401, ' +
      'and its device gets no more push messages. Requires `users.update_any`, and `roles.manage` for the account of ' +
      'another operator. Returns 403 for your own account, and for an account with a permission that you lack; ' +
      '`DELETE /auth/sessions/{id}` ends your own sessions.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.update_any'],
    tokenKinds: SESSION_ONLY,
    audits: ['session.end'],
    params: z.object({ id: idParam, session_id: idParam }),
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await endUserSession(caller, params.id, params.session_id);
      return noContent();
    },
  });
