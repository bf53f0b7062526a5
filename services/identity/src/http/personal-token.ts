/** The resource of a personal access token, and who may handle them. */
import { formatTimestamp } from '@fitness/shared/clock.ts';
import { z } from 'zod';
import type { PersonalToken } from '../app/personal-tokens.ts';

/** Third-party OAuth tokens have no access to the tokens of their user. */
export const TOKEN_MAKERS = ['session', 'personal'] as const;

export const personalTokenSchema = z
  .object({
    id: z.int(),
    name: z.string(),
    permissions: z.array(z.string()).nullable().meta({ description: 'null: whatever the account may do' }),
    created_at: z.string(),
    expires_at: z.string(),
  })
  .meta({ id: 'PersonalAccessToken' });

export const toPersonalToken = (token: PersonalToken): z.output<typeof personalTokenSchema> => ({
  id: token.id,
  name: token.name,
  permissions: token.permissions === null ? null : [...token.permissions],
  created_at: formatTimestamp(token.createdAt),
  expires_at: formatTimestamp(token.expiresAt),
});
