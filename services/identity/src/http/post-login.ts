import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { givenPasswordField, loginField, totpField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';
import { clientOf, sessionSchema, toSession } from './session.ts';

export const postLoginRoute = ({ signIn, presentUser }: Pick<UseCases, 'signIn' | 'presentUser'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/login',
    summary: 'Sign in',
    description:
      'By user name, e-mail or phone. Succeeds while a deletion is pending, so that it can be cancelled. With a second ' +
      'factor set up the right password is answered with 422 under `totp`: send the same again with the code of the ' +
      'authenticator app, or with a recovery code, as `totp`. Each code counts once; too many wrong ones are 429.',
    tag: 'auth',
    access: 'guest',
    body: z.object({ login: loginField, password: givenPasswordField, totp: totpField.optional() }),
    responses: { 200: sessionSchema },
    errorStatuses: [429],
    handle: async ({ body, clientAddress, request }) => {
      // The limits are consumed here and not by the server, because their keys are in the body.
      const found = await signIn.consumeLimit(body.login, clientAddress);
      const credentials = { ...body, totp: body.totp, found, client: clientOf(request, clientAddress) };
      return ok(await toSession(await signIn.signIn(credentials), presentUser));
    },
  });
