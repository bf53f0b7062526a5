import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { userSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { BrowseUsers } from '../app/browse-users.ts';
import type { UserPresenter } from '../app/user-resource.ts';

export const getUser = (browseUsers: BrowseUsers, presenter: UserPresenter): Route =>
  defineRoute({
    method: 'GET',
    path: '/users/:id',
    summary: 'One account',
    tag: 'users',
    access: 'guest',
    params: idParams,
    responses: { 200: z.object({ user: userSchema }) },
    handle: async ({ caller, params }) => {
      const user = await browseUsers.read(params.id);
      return ok({ user: await presenter.one(user, caller) });
    },
  });
