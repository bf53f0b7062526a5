import { message } from '@fitness/shared/error.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import type { ResetPassword } from '../app/reset-password.ts';

export const postForgotPassword = (resetPassword: ResetPassword): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/forgot-password',
    summary: 'Ask for a password reset code by SMS',
    description:
      'Always 200: the answer does not tell whether an account exists, nor whether a code was sent.',
    tag: 'auth',
    access: 'guest',
    body: z.object({ login: z.string().min(1).max(255) }),
    responses: { 200: z.object({ message: z.string() }) },
    handle: async ({ body, locale, t }) => {
      await resetPassword.request(body.login, locale);
      return ok({ message: t(message('auth.reset_requested')) });
    },
  });
