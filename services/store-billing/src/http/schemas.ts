/** Bodies that several routes answer with. */
import { z } from 'zod';

const timestamp = z.string().meta({ description: 'YYYY-MM-DD HH:MM:SS, UTC' });

export const subscriptionSchema = z
  .object({
    id: z.int(),
    user_id: z.int(),
    type: z.string(),
    starts_at: timestamp,
    expires_at: timestamp,
    created_at: timestamp,
  })
  .meta({ id: 'PremiumSubscription' });

export const boostSchema = z
  .object({
    id: z.int(),
    boostable_type: z.string(),
    boostable_id: z.int(),
    level: z.int(),
    starts_at: timestamp,
    ends_at: timestamp,
    created_at: timestamp,
  })
  .meta({ id: 'MarketingBoost' });

/** `{error, code}`: what the specification shapes for these routes. */
export const codedErrorSchema = z.object({ error: z.string(), code: z.string() }).meta({ id: 'CodedError' });
