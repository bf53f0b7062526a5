import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getUserRoute = ({ getUser, presentUser }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/users/:id',
    summary: 'Retrieve a user',
    description:
      'Returns a user. The limited-access fields are present only for the user themselves and for holders of ' +
      '`users.view_all`. These are `email`, `phone`, `bank_account_number`, `referrer_user_id`, ' +
      '`referral_score`, `referrals_count`, `roles`, the dates of a scheduled deletion, and the fields that ' +
      'begin with `trainer_license`.',
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
