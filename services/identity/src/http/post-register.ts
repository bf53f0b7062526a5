import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { machineReadField } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import {
  emailField,
  firstNameField,
  lastNameField,
  newUsernameField,
  passwordField,
  phoneField,
} from '../domain/account-fields.ts';
import type { Limits } from '../domain/limits.ts';
import type { UseCases } from '../use-cases.ts';
import { clientOf, sessionSchema, toSession } from './session.ts';

export const postRegisterRoute = (
  { register, findInvalidFields, presentUser }: UseCases,
  { registrations }: Pick<Limits, 'registrations'>,
): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/register',
    summary: 'Create an account',
    description:
      'Creates an account and signs in to it: the response has the token of its first session. Returns 422 for a ' +
      'username, email address or phone number that another account has.',
    tag: 'auth',
    access: 'guest',
    limit: registrations,
    limitPerAddress: true,
    body: z.object({
      username: newUsernameField,
      email: emailField,
      phone: phoneField,
      password: passwordField,
      first_name: firstNameField,
      last_name: lastNameField,
      referral_code: machineReadField().max(50).nullish().meta({
        description: '`referral_code` of the user who has invited the new one. An unknown code returns 422.',
      }),
    }),
    checkBody: (fields) => findInvalidFields(fields),
    responses: { 201: sessionSchema },
    errorStatuses: [429],
    handle: async ({ body, clientAddress, request }) =>
      created(await toSession(await register(body, clientOf(request, clientAddress)), presentUser)),
  });
