import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { userSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { Profile } from '../app/profile.ts';
import type { UserPresenter } from '../app/user-resource.ts';
import { givenPasswordField, profileShape } from './fields.ts';

export const putMe = (profile: Profile, presenter: UserPresenter): Route =>
  defineRoute({
    method: 'PUT',
    path: '/auth/me',
    summary: 'Change the own account',
    description: 'Only the given fields change. A new e-mail or phone needs `current_password` too.',
    tag: 'auth',
    access: 'user',
    body: z.object({
      ...profileShape,
      is_trainer: z.boolean().optional(),
      is_gym_owner: z.boolean().optional(),
      current_password: givenPasswordField.optional(),
    }),
    responses: { 200: z.object({ user: userSchema }) },
    handle: async ({ caller, body: { current_password, ...changes } }) => {
      const user = await profile.update(caller, changes, current_password);
      return ok({ user: await presenter.one(user, caller) });
    },
  });
