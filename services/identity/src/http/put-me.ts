import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { existingPasswordField, profileShape } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const putMeRoute = ({ updateProfile, findInvalidFields, presentUser }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/auth/me',
    summary: 'Update your account',
    description:
      'Changes the fields that you send and leaves the others as they are. A new username, email address, phone ' +
      'number or bank account requires a session token; with any other token the response is 403. All of these ' +
      'but the username also require `current_password`.\n\n' +
      'A new phone number must be confirmed. A six-digit code is sent to it by SMS, and it replaces the current ' +
      'number once the code is confirmed with `POST /auth/phone/confirm`. Until then the current number stays in ' +
      'use: in the response, for signing in and for codes. Another new number replaces the one that waits for ' +
      'its code, and sending the current number withdraws it.\n\n' +
      'The current number with `current_password` is sent a code too, unless another field requires the ' +
      'password. Once that code is confirmed, a password reset by SMS no longer turns off two-factor ' +
      'authentication.\n\n' +
      'When an SMS cannot be sent, the response is 500 and nothing changes.',
    tag: 'auth',
    access: 'user',
    body: z.object({
      ...profileShape,
      is_trainer: z
        .boolean()
        .optional()
        .meta({ description: 'Whether you identify as a trainer. It authorizes nothing.' }),
      is_gym_owner: z
        .boolean()
        .optional()
        .meta({ description: 'Whether you identify as a gym owner. It authorizes nothing.' }),
      current_password: existingPasswordField.optional(),
    }),
    checkBody: (fields, { caller }) => findInvalidFields(fields, caller.userId),
    responses: { 200: z.object({ user: userSchema }), 500: z.object({ message: z.string() }) },
    errorStatuses: [429],
    handle: async ({ caller, body, clientAddress, locale }) => {
      const { current_password: password, ...changes } = body;
      const user = await updateProfile(caller, changes, { password, clientAddress, locale });
      return ok({ user: await presentUser(user, caller) });
    },
  });
