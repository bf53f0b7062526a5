import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import { codeField, loginField, passwordField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postResetPasswordRoute = ({ resetPassword }: Pick<UseCases, 'resetPassword'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/reset-password',
    summary: 'Reset your password',
    description:
      'Sets a new password with the eight-digit code that `POST /auth/forgot-password` has sent. Every session and ' +
      'token of the account is revoked. If no code sent to the phone has been confirmed before, two-factor ' +
      'authentication is turned off too, except for accounts with operator permissions. With a token of that account, ' +
      'the call counts towards the limit of `POST /auth/delete-account` and returns 429 once that limit is reached. ' +
      'With the token of an app or a restricted token, every call does.',
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
