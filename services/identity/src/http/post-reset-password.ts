import { message } from '@fitness/shared/error.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import type { ResetPassword } from '../app/reset-password.ts';
import { CODE_LENGTH } from '../domain/confirmation-code.ts';
import { passwordField } from './fields.ts';

export const postResetPassword = (resetPassword: ResetPassword): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/reset-password',
    summary: 'Set a new password with a code',
    tag: 'auth',
    access: 'guest',
    body: z.object({
      login: z.string().min(1).max(255),
      code: z.string().length(CODE_LENGTH),
      password: passwordField,
    }),
    responses: { 200: z.object({ message: z.string() }) },
    handle: async ({ body, t }) => {
      await resetPassword.reset(body);
      return ok({ message: t(message('auth.password_reset')) });
    },
  });
