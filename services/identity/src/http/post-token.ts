import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { personalTokenSchema, toPersonalToken } from '../app/credentials/personal-token-resource.ts';
import { timestampField, tokenNameField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postTokenRoute = ({ createPersonalToken }: Pick<UseCases, 'createPersonalToken'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/tokens',
    summary: 'Create a personal access token',
    description:
      'The token is shown once. With `permissions`, also an empty list, it is restricted to routes that need one of them, and to public ones; without, it may do what the account may, except to change credentials. `expires_at` is at most one year ahead. The owner is told by a `security_alert`.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({
      name: tokenNameField,
      permissions: z.array(z.string().max(100)).max(100).nullish(),
      expires_at: timestampField.nullish(),
    }),
    audits: ['token.create'],
    responses: {
      201: z.object({ token: z.string(), data: personalTokenSchema }).meta({ id: 'CreatedToken' }),
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
