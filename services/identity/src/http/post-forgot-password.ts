import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import { loginField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postForgotPasswordRoute = ({ resetPassword }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/forgot-password',
    summary: 'Request a password reset code',
    description:
      'Sends an eight-digit code for `POST /auth/reset-password` to the phone of an account by SMS. The code is ' +
      'valid for ten minutes.\n\n' +
      'The response does not reveal whether the account exists or a code was sent. Without a token, it is 200 ' +
      'even when a limit is reached. With a token of the account, the call counts towards the limit of `POST ' +
      '/auth/delete-account`, and returns 429 once that limit is reached. With an OAuth token or a restricted token, ' +
      'every call counts, whatever the `login`.',
    tag: 'auth',
    access: 'guest',
    body: z.object({ login: loginField }),
    responses: { 200: z.object({ message: z.string() }) },
    errorStatuses: [429],
    handle: async ({ body, caller, locale, clientAddress, t }) => {
      await resetPassword.request(body.login, { caller, locale, clientAddress });
      return ok({ message: t(message('auth.reset_requested')) });
    },
  });
