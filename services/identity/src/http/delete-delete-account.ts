import { ANY_TOKEN } from '@fitness/shared/caller.ts';
import { message } from '@fitness/shared/error.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { userSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { DeleteAccount } from '../app/delete-account.ts';
import type { UserPresenter } from '../app/user-resource.ts';

export const deleteDeleteAccount = (deleteAccount: DeleteAccount, presenter: UserPresenter): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/auth/delete-account',
    summary: 'Cancel the deletion of the own account',
    description: 'Also 200 when nothing is pending: a client may repeat it when the answer was lost.',
    tag: 'auth',
    access: 'user',
    // A valid token and nothing else (specification 5, rule 2).
    tokenKinds: ANY_TOKEN,
    responses: { 200: z.object({ message: z.string(), user: userSchema }) },
    handle: async ({ caller, t }) => {
      const user = await deleteAccount.cancel(caller.userId);
      return ok({ message: t(message('deletion.cancelled')), user: await presenter.one(user, caller) });
    },
  });
