import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteUserSecondFactorRoute = ({ removeSecondFactor }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/users/:id/second-factor',
    summary: 'Turn off a user’s two-factor authentication',
    description:
      'Turns off two-factor authentication for another user. Use it when the user has lost the second factor, or ' +
      'when a stranger has set one up. Every session, personal access token and connected app of the account is ' +
      'revoked, and its owner is notified. When two-factor authentication is already off, nothing changes and ' +
      'the response is the same.\n\n' +
      'Anyone who knows the password can turn it on again: have the owner reset the password first.\n\n' +
      'Requires `users.update_any`, and `roles.manage` for the account of another operator. Returns 403 for your ' +
      'own account, and for an account with a permission that you lack.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.update_any'],
    tokenKinds: SESSION_ONLY,
    audits: ['second_factor.remove'],
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await removeSecondFactor(caller, params.id);
      return noContent();
    },
  });
