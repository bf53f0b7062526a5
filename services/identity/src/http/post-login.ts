import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { rateLimitHeaders } from '@fitness/shared/http/rate-limit.ts';
import { z } from 'zod';
import type { SignIn } from '../app/sign-in.ts';
import type { UserPresenter } from '../app/user-resource.ts';
import { givenPasswordField, loginField } from './fields.ts';
import { signedInSchema, toSignedIn } from './signed-in.ts';

export const postLogin = (signIn: SignIn, presenter: UserPresenter): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/login',
    summary: 'Sign in',
    description:
      'By user name, e-mail or phone. Succeeds while a deletion is pending, so that it can be cancelled.',
    tag: 'auth',
    access: 'guest',
    body: z.object({ login: loginField, password: givenPasswordField }),
    responses: { 200: signedInSchema, 429: z.object({ message: z.string() }) },
    handle: async ({ body, clientAddress, reply }) => {
      // The key of this limit is in the body, so it is taken after the body was read.
      const state = await signIn.takeLimit(body.login, clientAddress);
      reply.headers(rateLimitHeaders(state));
      return ok(await toSignedIn(await signIn.signIn(body.login, body.password), presenter));
    },
  });
