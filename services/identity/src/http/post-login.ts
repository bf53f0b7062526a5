import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { existingPasswordField, loginField, totpField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';
import { clientOf, sessionSchema, toSession } from './session.ts';

export const postLoginRoute = ({ signIn, presentUser }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/login',
    summary: 'Sign in',
    description:
      'Starts a session and returns its token. A wrong password and an unknown account get the same 422 under ' +
      '`login`.\n\n' +
      'While two-factor authentication is on, the right password without a code returns 422 under `totp`. Repeat ' +
      'the request with `totp`: a code from the authenticator app, or a recovery code. Each code works once, and ' +
      'too many wrong ones return 429.\n\n' +
      'Signing in also works while a deletion is scheduled, so that you can cancel it.',
    tag: 'auth',
    access: 'guest',
    body: z.object({ login: loginField, password: existingPasswordField, totp: totpField.optional() }),
    responses: { 200: sessionSchema },
    errorStatuses: [429],
    handle: async ({ body, clientAddress, request }) => {
      // The limits are consumed here and not by the server, because their keys come from the body.
      const match = await signIn.consumeLimit(body.login, clientAddress);
      const credentials = { ...body, totp: body.totp, match, client: clientOf(request, clientAddress) };
      return ok(await toSession(await signIn.signIn(credentials), presentUser));
    },
  });
