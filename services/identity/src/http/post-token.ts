import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { personalTokenSchema, toPersonalToken } from '../app/credentials/personal-token-resource.ts';
import { timestampField, tokenNameField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postTokenRoute = ({ createPersonalToken, findInvalidTokenFields }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/tokens',
    summary: 'Create a personal access token',
    description:
      'Creates a token for your scripts, which is shown only in this response. Without `permissions`, it may do ' +
      'what your account may do, except change credentials. With `permissions`, even an empty list, it is ' +
      'restricted to public operations and to those that need one of these permissions. You are notified by a ' +
      '`security_alert`.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({
      name: tokenNameField,
      permissions: z.array(z.string().max(100)).max(100).nullish().meta({
        description: 'Permissions to which the token is restricted. One that you lack returns 422.',
      }),
      expires_at: timestampField.nullish().meta({
        description:
          'When the token expires, at most one year ahead: `YYYY-MM-DD HH:MM:SS` in UTC, or ISO 8601 with a time zone. ' +
          'Without it, the token lives as long as a session (30 days unless the operator of the platform has set another ' +
          'time).',
      }),
    }),
    checkBody: ({ permissions, expires_at }, { caller }) =>
      findInvalidTokenFields(caller, {
        permissions: permissions ?? undefined,
        expiresAt: expires_at ?? undefined,
      }),
    audits: ['token.create'],
    responses: {
      201: z
        .object({
          token: z.string().meta({ description: 'The token; it is not shown again' }),
          data: personalTokenSchema,
        })
        .meta({ id: 'CreatedToken' }),
    },
    handle: async ({ caller, body }) => {
      const { token, row } = await createPersonalToken(caller, {
        name: body.name,
        permissions: body.permissions ?? undefined,
        expiresAt: body.expires_at ?? undefined,
      });
      return created({ token, data: toPersonalToken(row) });
    },
  });
