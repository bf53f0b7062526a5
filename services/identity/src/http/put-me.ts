import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { givenPasswordField, profileShape } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const putMeRoute = ({
  updateProfile,
  presentUser,
}: Pick<UseCases, 'updateProfile' | 'presentUser'>): Route =>
  defineRoute({
    method: 'PUT',
    path: '/auth/me',
    summary: 'Change the own account',
    description:
      'Only the given fields change. A new e-mail, phone or bank account needs `current_password` and a session, a new user ' +
      'name a session: 403 with a personal token. A new phone is sent a six-digit code and counts once the code has come back by ' +
      '`POST /auth/phone/confirm`; until then the response, sign-ins and codes have the old one. Another new phone replaces ' +
      'it, and the current phone withdraws it. The current phone with `current_password` is sent such a code as well, unless ' +
      'another field needs the password: once it has come back, a password reset by SMS leaves the second factor on. When the SMS cannot be sent nothing is changed.',
    tag: 'auth',
    access: 'user',
    body: z.object({
      ...profileShape,
      is_trainer: z.boolean().optional(),
      is_gym_owner: z.boolean().optional(),
      current_password: givenPasswordField.optional(),
    }),
    responses: { 200: z.object({ user: userSchema }), 500: z.object({ message: z.string() }) },
    errorStatuses: [429],
    handle: async ({ caller, body, clientAddress, locale }) => {
      const { current_password: password, ...changes } = body;
      const user = await updateProfile(caller, changes, { password, clientAddress, locale });
      return ok({ user: await presentUser(user, caller) });
    },
  });
