import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { ANY_TOKEN } from '@fitness/shared/kernel/caller.ts';
import type { UseCases } from '../use-cases.ts';

export const postLogoutRoute = ({ signOut }: Pick<UseCases, 'signOut'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/logout',
    summary: 'End this session',
    description: 'Every later request with the presented token is 401.',
    tag: 'auth',
    access: 'user',
    tokenKinds: ANY_TOKEN,
    responses: { 204: null },
    handle: async ({ caller }) => {
      await signOut(caller);
      return noContent();
    },
  });
