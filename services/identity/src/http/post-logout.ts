import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { ALL_TOKEN_KINDS } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const postLogoutRoute = ({ signOut }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/logout',
    summary: 'Sign out',
    description: 'Revokes the token of this request. Every later request with it returns 401.',
    tag: 'auth',
    pages: ['ops', 'account_deletion'],
    access: 'user',
    tokenKinds: ALL_TOKEN_KINDS,
    responses: { 204: null },
    handle: async ({ caller }) => {
      await signOut(caller);
      return noContent();
    },
  });
