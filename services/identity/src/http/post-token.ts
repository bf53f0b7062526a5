import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import type { PersonalTokens } from '../app/personal-tokens.ts';
import { tokenNameField, untilField } from './fields.ts';
import { personalTokenSchema, TOKEN_MAKERS, toPersonalToken } from './personal-token.ts';

export const postToken = (personalTokens: PersonalTokens): Route =>
  defineRoute({
    method: 'POST',
    path: '/auth/tokens',
    summary: 'Make a personal access token',
    description:
      'The token is shown once. It never carries more than the presenting one; without `permissions` it carries the same. Made with a personal token, it ends with that one at the latest.',
    tag: 'auth',
    access: 'user',
    tokenKinds: TOKEN_MAKERS,
    body: z.object({
      name: tokenNameField,
      permissions: z.array(z.string().max(100)).max(100).nullish(),
      expires_at: untilField.nullish(),
    }),
    responses: { 201: z.object({ token: z.string(), data: personalTokenSchema }) },
    handle: async ({ caller, body }) => {
      const made = await personalTokens.create(caller, {
        name: body.name,
        permissions: body.permissions ?? undefined,
        expiresAt: body.expires_at ?? undefined,
      });
      return created({ token: made.token, data: toPersonalToken(made.data) });
    },
  });
