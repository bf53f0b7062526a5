/** An entry of the erasure journal. It has only ids and times, because it outlives the account (docs/adr/0009). */
import { z } from 'zod';

const time = z.iso.datetime().transform((text) => new Date(text));

export const erasureSchema = z.object({
  user_id: z.int().positive(),
  /** Together with the id it identifies the account: after a restore the same id is assigned again. */
  created_at: time,
  erased_at: time,
  /** By the system clock. Missing from an entry of an older release: {@link erased_at}. */
  begun_at: time.optional(),
});

export type Erasure = z.output<typeof erasureSchema>;
