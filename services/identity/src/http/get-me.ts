import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { ALL_TOKEN_KINDS } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getMeRoute = ({
  getProfile,
  presentUser,
}: Pick<UseCases, 'getProfile' | 'presentUser'>): Route =>
  defineRoute({
    method: 'GET',
    path: '/auth/me',
    summary: 'The own account',
    tag: 'auth',
    access: 'user',
    tokenKinds: ALL_TOKEN_KINDS,
    responses: { 200: z.object({ user: userSchema }) },
    handle: async ({ caller }) => {
      const user = await getProfile(caller);
      return ok({ user: await presentUser(user, caller) });
    },
  });
