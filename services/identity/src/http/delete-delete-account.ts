import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { ALL_TOKEN_KINDS } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const deleteDeleteAccountRoute = ({ cancelDeletion, presentOwnAccount }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/auth/delete-account',
    summary: 'Cancel the deletion of your account',
    description:
      'Cancels the scheduled deletion and restores the account. Requires a valid token, and neither the password nor a code. ' +
      'When no deletion is scheduled, nothing changes and the response is also 200, so a client may repeat the request.',
    tag: 'auth',
    pages: ['account_deletion'],
    access: 'user',
    // A valid token is the only requirement (specification 5, rule 2).
    tokenKinds: ALL_TOKEN_KINDS,
    responses: { 200: z.object({ message: z.string(), user: userSchema }).meta({ id: 'DeletionCancelled' }) },
    handle: async ({ caller, t }) => {
      const user = await cancelDeletion(caller.userId);
      return ok({ message: t(message('deletion.cancelled')), user: await presentOwnAccount(user, caller) });
    },
  });
