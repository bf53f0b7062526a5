import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import { loginField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postForgotPasswordRoute = ({ resetPassword }: Pick<UseCases, 'resetPassword'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/forgot-password',
    summary: 'Request a password reset code by SMS',
    description:
      'The response comes at once, and does not reveal whether an account exists or a code was sent: 200, whatever limit ' +
      'is reached. With a token of that account the call counts as one of `POST /auth/delete-account`, and is 429 as well; ' +
      'with that of an app or a restricted token so does every call.',
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
