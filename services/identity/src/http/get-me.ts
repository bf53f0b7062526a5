import { ANY_TOKEN } from '@fitness/shared/caller.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { userSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { Profile } from '../app/profile.ts';
import type { UserPresenter } from '../app/user-resource.ts';

export const getMe = (profile: Profile, presenter: UserPresenter): Route =>
  defineRoute({
    method: 'GET',
    path: '/auth/me',
    summary: 'The own account',
    tag: 'auth',
    access: 'user',
    tokenKinds: ANY_TOKEN,
    responses: { 200: z.object({ user: userSchema }) },
    handle: async ({ caller }) => {
      const user = await profile.read(caller);
      return ok({ user: await presenter.one(user, caller) });
    },
  });
