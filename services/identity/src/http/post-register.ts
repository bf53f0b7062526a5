import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import type { Register } from '../app/register.ts';
import type { UserPresenter } from '../app/user-resource.ts';
import {
  emailField,
  firstNameField,
  lastNameField,
  passwordField,
  phoneField,
  usernameField,
} from './fields.ts';
import { signedInSchema, toSignedIn } from './signed-in.ts';

export const postRegister = (register: Register, presenter: UserPresenter): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/register',
    summary: 'Open an account',
    tag: 'auth',
    access: 'guest',
    body: z.object({
      username: usernameField,
      email: emailField,
      phone: phoneField,
      password: passwordField,
      first_name: firstNameField,
      last_name: lastNameField,
      referral_code: z.string().max(50).nullish(),
    }),
    responses: { 201: signedInSchema },
    handle: async ({ body }) => created(await toSignedIn(await register(body), presenter)),
  });
