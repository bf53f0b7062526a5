import { ANY_TOKEN } from '@fitness/shared/caller.ts';
import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import type { SignOut } from '../app/sign-out.ts';

export const postLogout = (signOut: SignOut): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/logout',
    summary: 'End this session',
    description: 'The presenting token answers 401 from then on.',
    tag: 'auth',
    access: 'user',
    tokenKinds: ANY_TOKEN,
    responses: { 204: null },
    handle: async ({ caller }) => {
      await signOut(caller);
      return noContent();
    },
  });
