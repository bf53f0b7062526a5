import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { givenPasswordField, totpField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

const stepSchema = z
  .object({
    secret: z.string().meta({ description: 'in Base32, for typing into an authenticator app' }),
    otpauth_url: z.string().meta({ description: 'the same for a QR code' }),
    recovery_codes: z
      .array(z.string())
      .meta({ description: 'shown once; each counts once in place of a code' }),
  })
  .partial()
  .meta({
    id: 'SecondFactorStep',
    description: 'The first step answers `secret` and `otpauth_url`, the second one `recovery_codes`.',
  });

export const postSecondFactorRoute = ({ ownSecondFactor }: Pick<UseCases, 'ownSecondFactor'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/second-factor',
    summary: 'Set up a second factor (TOTP, RFC 6238)',
    description:
      'Two phases: `current_password` shows a new secret, which is valid for ten minutes; `totp`, a code of that secret, ' +
      'arms it. From then on a log-in needs a code. Every other session, personal token and third-party app of the account ' +
      'is revoked, because it was admitted without a code; the session of this request stays. 409 while one is armed.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({ current_password: givenPasswordField.optional(), totp: totpField.optional() }),
    responses: { 200: stepSchema },
    errorStatuses: [409, 429],
    handle: async ({ caller, body, clientAddress }) => {
      const { current_password: currentPassword, totp } = body;
      if (totp !== undefined) return ok({ recovery_codes: await ownSecondFactor.arm(caller, totp) });
      const given = { currentPassword, clientAddress };
      const { secret, otpauthUrl } = await ownSecondFactor.begin(caller, given);
      return ok({ secret, otpauth_url: otpauthUrl });
    },
  });
