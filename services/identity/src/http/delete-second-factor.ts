import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { existingPasswordField, totpField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteSecondFactorRoute = ({ ownSecondFactor }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/auth/second-factor',
    summary: 'Turn off two-factor authentication',
    description:
      'Turns off two-factor authentication for your account, or ends a setup that is not complete. Requires ' +
      '`current_password` and, while two-factor authentication is on, `totp`: a code from the authenticator app or a ' +
      'recovery code. When it is already off, nothing changes and the response is the same.',
    tag: 'auth',
    pages: ['ops'],
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({ current_password: existingPasswordField.optional(), totp: totpField.optional() }),
    responses: { 204: null },
    errorStatuses: [429],
    handle: async ({ caller, body, clientAddress }) => {
      const { current_password: currentPassword, totp } = body;
      await ownSecondFactor.disarm(caller, { currentPassword, totp, clientAddress });
      return noContent();
    },
  });
