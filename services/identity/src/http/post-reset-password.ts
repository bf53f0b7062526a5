import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import { codeField, loginField, passwordField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postResetPasswordRoute = ({ resetPassword }: Pick<UseCases, 'resetPassword'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/reset-password',
    summary: 'Set a new password with a code',
    description:
      'With the eight-digit code that `POST /auth/forgot-password` has sent. Every session and token of the account is revoked. ' +
      'Unless a code sent to the phone has come back before, the second factor is removed as well, except from accounts with ' +
      'an operator’s permission. ' +
      'With a token of that account the call counts as one of `POST /auth/delete-account`: 429 when they are spent; ' +
      'with that of an app or a restricted token so does every call.',
    tag: 'auth',
    access: 'guest',
    body: z.object({
      login: loginField,
      code: codeField('reset'),
      password: passwordField,
    }),
    responses: { 200: z.object({ message: z.string() }) },
    errorStatuses: [429],
    handle: async ({ body, caller, clientAddress, locale, t }) => {
      await resetPassword.reset(body, { caller, clientAddress, locale });
      return ok({ message: t(message('auth.password_reset')) });
    },
  });
