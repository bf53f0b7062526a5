import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getUserRoute = ({ getUser, presentUser }: Pick<UseCases, 'getUser' | 'presentUser'>): Route =>
  defineRoute({
    method: 'GET',
    path: '/users/:id',
    summary: 'One account',
    description:
      'The limited-access fields are absent for everyone but the account itself and holders of `users.view_all`.',
    tag: 'users',
    pages: ['ops'],
    access: 'guest',
    params: idParams,
    responses: { 200: z.object({ user: userSchema }) },
    handle: async ({ caller, params }) => {
      const user = await getUser(params.id);
      return ok({ user: await presentUser(user, caller) });
    },
  });
