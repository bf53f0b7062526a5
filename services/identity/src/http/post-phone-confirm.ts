import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { codeField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postPhoneConfirmRoute = ({ confirmPhone, presentUser }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/phone/confirm',
    summary: 'Confirm your phone number',
    description:
      'Confirms a phone number with the six-digit code that `PUT /auth/me` has sent to it. The code is valid for ' +
      'ten minutes and five failed attempts. A code that is not accepted returns 422 under `code`, and so does a number ' +
      'that another account has taken in the meantime.\n\n' +
      'A new number becomes the number of the account, and the old number is notified by SMS. Codes that were ' +
      'sent to the old number are no longer accepted.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({ code: codeField('phone') }),
    responses: { 200: z.object({ user: userSchema }) },
    handle: async ({ caller, body: { code }, locale }) => {
      const user = await confirmPhone(caller, { code, locale });
      return ok({ user: await presentUser(user, caller) });
    },
  });
