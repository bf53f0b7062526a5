import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { ALL_TOKEN_KINDS } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getMeRoute = ({ getProfile, presentOwnAccount }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/auth/me',
    summary: 'Retrieve your account',
    description:
      'Returns your account with all of its fields. A restricted personal access token sees only the public ' +
      'fields and the dates of a scheduled deletion. With the permission `users.view_all` it sees all fields.',
    tag: 'auth',
    pages: ['ops', 'account_deletion'],
    access: 'user',
    tokenKinds: ALL_TOKEN_KINDS,
    responses: { 200: z.object({ user: userSchema }) },
    handle: async ({ caller }) => {
      const user = await getProfile(caller);
      return ok({ user: await presentOwnAccount(user, caller) });
    },
  });
