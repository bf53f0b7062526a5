import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteGrantRoute = ({ revokeGrant }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/auth/grants/:id',
    summary: 'Disconnect an app',
    description:
      'Revokes the access of an app to your account. Every later request with one of its tokens returns 401, and the app ' +
      'cannot get new ones.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await revokeGrant(caller.userId, params.id);
      return noContent();
    },
  });
