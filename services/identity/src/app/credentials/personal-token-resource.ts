import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { Token } from '../../store/tokens.ts';

export const personalTokenSchema = z
  .object({
    id: z.int(),
    name: z.string().meta({ description: 'Name that you gave the token' }),
    permissions: z.array(z.string()).nullable().meta({
      description:
        'Permissions to which the token is restricted. Null: it may do what your account may do, except change credentials.',
    }),
    created_at: timestampSchema,
    expires_at: timestampSchema.meta({ description: 'When the token expires' }),
  })
  .meta({ id: 'PersonalAccessToken', description: 'A personal access token, without its secret' });

export const toPersonalToken = (row: Token): z.output<typeof personalTokenSchema> => ({
  id: row.token_number ?? 0,
  name: row.name ?? '',
  permissions: row.permissions,
  created_at: formatTimestamp(row.created_at),
  expires_at: formatTimestamp(row.expires_at),
});
