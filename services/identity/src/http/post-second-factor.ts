import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { existingPasswordField, totpField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

const stepSchema = z
  .object({
    secret: z.string().meta({ description: 'Secret in Base32, for typing into an authenticator app' }),
    otpauth_url: z.string().meta({ description: 'The same secret as an `otpauth:` URL, for a QR code' }),
    recovery_codes: z.array(z.string()).meta({
      description:
        'Codes that are shown only once. Each works once in place of a code from the authenticator app.',
    }),
  })
  .partial()
  .meta({
    id: 'SecondFactorStep',
    description:
      'Sets up two-factor authentication (TOTP, RFC 6238) in two phases:\n\n' +
      '1. With `current_password`, the response has a new secret, which is valid for ten minutes.\n' +
      '2. With `totp`, a code of that secret, two-factor authentication is turned on, and the response has the ' +
      'recovery codes. From then on signing in requires a code.\n\n' +
      'In the second phase, every other session, personal access token and connected app of the account is ' +
      'revoked, because they were issued without a code. The session of this request stays valid. Returns 409 ' +
      'while two-factor authentication is on.',
  });

export const postSecondFactorRoute = ({ ownSecondFactor }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/second-factor',
    summary: 'Set up two-factor authentication',
    description:
      'Sets up two-factor authentication (TOTP, RFC 6238) in two phases:\n\n' +
      '1. With `current_password`, the response has a new secret, which is valid for ten minutes.\n' +
      '2. With `totp`, a code of that secret, two-factor authentication is turned on, and the response has the recovery ' +
      'codes. From then on signing in requires a code.\n\n' +
      'The second phase revokes every other session, personal access token and connected app of the account, because ' +
      'they were issued without a code; the session of this request stays valid. Returns 409 while two-factor ' +
      'authentication is on.',
    tag: 'auth',
    pages: ['ops'],
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({ current_password: existingPasswordField.optional(), totp: totpField.optional() }),
    responses: { 200: stepSchema },
    errorStatuses: [409, 429],
    handle: async ({ caller, body, clientAddress }) => {
      const { current_password: currentPassword, totp } = body;
      if (totp !== undefined) return ok({ recovery_codes: await ownSecondFactor.arm(caller, totp) });
      const { secret, otpauthUrl } = await ownSecondFactor.begin(caller, { currentPassword, clientAddress });
      return ok({ secret, otpauth_url: otpauthUrl });
    },
  });
