import { message } from '@fitness/shared/error.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import type { Profile } from '../app/profile.ts';
import { givenPasswordField, passwordField } from './fields.ts';

export const putChangePassword = (profile: Profile): Route =>
  defineRoute({
    method: 'PUT',
    path: '/auth/change-password',
    summary: 'Change the password',
    description: 'Every other credential of the account is revoked; the presenting token stays.',
    tag: 'auth',
    access: 'user',
    body: z.object({ current_password: givenPasswordField, password: passwordField }),
    responses: { 200: z.object({ message: z.string() }) },
    handle: async ({ caller, body, t }) => {
      await profile.changePassword(caller, body.current_password, body.password);
      return ok({ message: t(message('auth.password_changed')) });
    },
  });
