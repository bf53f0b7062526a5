import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
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
  { register, presentUser }: Pick<UseCases, 'register' | 'presentUser'>,
  { registrations }: Pick<Limits, 'registrations'>,
): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/register',
    summary: 'Open an account',
    description:
      'Answers a session token, as signing in does. `referral_code` is that of the account that has invited the new one.',
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
      referral_code: z.string().max(50).nullish(),
    }),
    responses: { 201: sessionSchema },
    errorStatuses: [429],
    handle: async ({ body, clientAddress, request }) =>
      created(await toSession(await register(body, clientOf(request, clientAddress)), presentUser)),
  });
