import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import { codeField, loginField, passwordField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postResetPasswordRoute = ({ resetPassword }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/reset-password',
    summary: 'Reset your password',
    description:
      'Sets a new password with the eight-digit code that `POST /auth/forgot-password` has sent. A code that is ' +
      'not accepted returns 422 under `code`, whatever the reason. Every session, personal access token and connected ' +
      'app of the account is revoked.\n\n' +
      'Two-factor authentication is also turned off if no code sent to the phone has been confirmed before. It ' +
      'stays on for accounts with operator permissions.\n\n' +
      'Calls with a token are limited as those of `POST /auth/forgot-password`.',
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
