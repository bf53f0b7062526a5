import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import { existingPasswordField, passwordField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const putChangePasswordRoute = ({ changePassword }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/auth/change-password',
    summary: 'Change your password',
    description:
      'Sets a new password. Requires the current one; a wrong one returns 422 under `current_password`. Every other ' +
      'session, personal access token and connected app of the account is revoked. The session of this request ' +
      'stays valid.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({ current_password: existingPasswordField, password: passwordField }),
    responses: { 200: z.object({ message: z.string() }) },
    errorStatuses: [429],
    handle: async ({ caller, body, clientAddress, locale, t }) => {
      const { current_password: currentPassword, password } = body;
      await changePassword(caller, { currentPassword, password, clientAddress, locale });
      return ok({ message: t(message('auth.password_changed')) });
    },
  });
