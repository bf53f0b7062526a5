/** An entry of the erasure journal. It has only ids and times, because it outlives the account (docs/adr/0009). */
import { z } from 'zod';

const time = z.iso.datetime().transform((text) => new Date(text));

export const erasureSchema = z.object({
  user_id: z.int().positive(),
  /** Together with the id it identifies the account: after a restore the same id is assigned again. */
  created_at: time,
  erased_at: time,
  /** Time on the system clock. An entry of an older release lacks it; {@link erased_at} is used instead. */
  begun_at: time.optional(),
});

export type Erasure = z.output<typeof erasureSchema>;
