import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import { deviceSchema, toDevice } from '../notifications/devices.ts';
import type { SessionRow } from './list-sessions.ts';

export const loginSessionSchema = z
  .object({
    id: z.int(),
    name: z
      .string()
      .nullable()
      .meta({ description: '`User-Agent` of the request that signed in, at most 200 characters' }),
    address: z
      .string()
      .nullable()
      .meta({ description: 'IPv4 address that signed in, or the network of an IPv6 address' }),
    created_at: timestampSchema,
    last_used_at: timestampSchema.meta({
      description: 'When the session was last used; up to a minute late',
    }),
    current: z.boolean().meta({ description: 'Whether this is the session of the request' }),
    device: deviceSchema.nullable().meta({
      description: 'Device that the session has registered for push messages. Null without one.',
    }),
  })
  .meta({ id: 'Session' });

export const toLoginSession = (
  { row, device }: SessionRow,
  currentTokenId: string,
): z.output<typeof loginSessionSchema> => ({
  id: row.token_number ?? 0,
  name: row.name,
  address: row.address ?? null,
  created_at: formatTimestamp(row.created_at),
  last_used_at: formatTimestamp(row.last_used_at ?? row.created_at),
  current: row._id === currentTokenId,
  device: device === undefined ? null : toDevice(device),
});
