import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteUserSecondFactorRoute = ({
  removeSecondFactor,
}: Pick<UseCases, 'removeSecondFactor'>): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/users/:id/second-factor',
    summary: 'Remove the second factor of somebody else, as an operator',
    description:
      'For a member who has lost it, or whose account a stranger has set one up for. Every session, personal token and ' +
      'third-party app of the account is revoked, and the owner is notified. Who knows the password can set up another ' +
      'one: have the owner reset the password first. Nothing happens when there is none. 403 for your own account, for ' +
      'one with a permission that the caller lacks, and for another operator without `roles.manage`.',
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
