import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { Token } from '../../store/tokens.ts';

export const loginSessionSchema = z
  .object({
    id: z.int(),
    name: z
      .string()
      .nullable()
      .meta({ description: 'the `User-Agent` of the log-in, at most 200 characters' }),
    address: z.string().nullable().meta({ description: 'of the log-in; of an IPv6 address its network' }),
    created_at: z.string(),
    last_used_at: z.string().meta({ description: 'up to a minute late' }),
    current: z.boolean().meta({ description: 'whether the request was made with its token' }),
  })
  .meta({ id: 'Session' });

export const toLoginSession = (row: Token, currentTokenId: string): z.output<typeof loginSessionSchema> => ({
  id: row.token_number ?? 0,
  name: row.name,
  address: row.address ?? null,
  created_at: formatTimestamp(row.created_at),
  last_used_at: formatTimestamp(row.last_used_at ?? row.created_at),
  current: row._id === currentTokenId,
});
