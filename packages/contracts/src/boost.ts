/** The marketing boost resource (specification 2.7), and its reader. */
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { z } from 'zod';
import { EMBEDDED_DEADLINE_MS } from './embedded.ts';
import { timestampSchema } from './timestamp.ts';

export const boostSchema = z
  .object({
    id: z.int(),
    boostable_type: z
      .string()
      .meta({ description: 'Model name of the target, e.g. `App\\Models\\Gyms\\Gym`' }),
    boostable_id: z.int().meta({ description: 'Id of the target' }),
    level: z.int().meta({ description: '1: basic, 2: pro' }),
    starts_at: timestampSchema.meta({ description: 'When the boost starts' }),
    ends_at: timestampSchema.meta({ description: 'When the boost ends' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'MarketingBoost', description: 'A boost of a gym or a training service' });

export type BoostResource = z.output<typeof boostSchema>;

type TargetType = 'gym' | 'training_service';

export interface BoostReader {
  /** Running boosts by target id, in one call. Throws `unavailable` if there is no answer. */
  find(type: TargetType, ids: readonly number[]): Promise<Map<number, BoostResource>>;
  /** Like `find`, but never rejects: without an answer in time the map is empty. */
  findOrEmpty(type: TargetType, ids: readonly number[]): Promise<Map<number, BoostResource>>;
}

const FIND_DEADLINE_MS = 3_000;

export const createBoostReader = (
  storeBilling: GrpcClient<StoreBillingDefinition>,
  log: Logger,
): BoostReader => {
  const ask = async (
    type: TargetType,
    ids: readonly number[],
    deadlineMs: number,
  ): Promise<Map<number, BoostResource>> => {
    if (ids.length === 0) return new Map();
    const targets = ids.map((id) => ({ type, id }));
    const answer = await storeBilling.call('GetBoosts', { targets }, { deadlineMs });
    // The message has the fields of the resource.
    return new Map(answer.boosts.map((boost) => [boost.boostable_id, boost]));
  };
  return {
    find: (type, ids) => ask(type, ids, FIND_DEADLINE_MS),
    findOrEmpty: async (type, ids) => {
      try {
        return await ask(type, ids, EMBEDDED_DEADLINE_MS);
      } catch (error) {
        log.warn({ err: error, type }, 'shown without boosts');
        return new Map();
      }
    },
  };
};
