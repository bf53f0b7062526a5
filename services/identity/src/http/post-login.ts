import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { rateLimitHeaders } from '@fitness/shared/kernel/rate-limit.ts';
import { z } from 'zod';
import { givenPasswordField, loginField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';
import { clientOf, sessionSchema, toSession } from './session.ts';

export const postLoginRoute = ({ signIn, presentUser }: Pick<UseCases, 'signIn' | 'presentUser'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/login',
    summary: 'Sign in',
    description:
      'By user name, e-mail or phone. Succeeds while a deletion is pending, so that it can be cancelled.',
    tag: 'auth',
    access: 'guest',
    body: z.object({ login: loginField, password: givenPasswordField }),
    responses: { 200: sessionSchema },
    errorStatuses: [429],
    handle: async ({ body, clientAddress, request, reply }) => {
      // The limits are consumed here and not by the server, because their keys are in the body.
      const state = await signIn.consumeLimit(body.login, clientAddress);
      reply.headers(rateLimitHeaders(state));
      const client = clientOf(request, clientAddress);
      return ok(await toSession(await signIn.signIn({ ...body, client }), presentUser));
    },
  });
