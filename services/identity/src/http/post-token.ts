import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_AND_PERSONAL } from '@fitness/shared/kernel/caller.ts';
import { z } from 'zod';
import { personalTokenSchema, toPersonalToken } from '../app/personal-token-resource.ts';
import { timestampField, tokenNameField } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const postTokenRoute = ({ createPersonalToken }: Pick<UseCases, 'createPersonalToken'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/tokens',
    summary: 'Create a personal access token',
    description:
      'The token is shown once. It never has more permissions than the presented one; without `permissions` it has the same. Created with a personal token, it expires with that one at the latest.',
    tag: 'auth',
    access: 'user',
    tokenKinds: SESSION_AND_PERSONAL,
    body: z.object({
      name: tokenNameField,
      permissions: z.array(z.string().max(100)).max(100).nullish(),
      expires_at: timestampField.nullish(),
    }),
    responses: { 201: z.object({ token: z.string(), data: personalTokenSchema }) },
    handle: async ({ caller, body }) => {
      const { token, row } = await createPersonalToken(caller, {
        name: body.name,
        permissions: body.permissions ?? undefined,
        expiresAt: body.expires_at ?? undefined,
      });
      return created({ token, data: toPersonalToken(row) });
    },
  });
