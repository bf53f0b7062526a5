/** The marketing boost resource (specification 2.7), its reader, and the copies that show it without an answer. */
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { z } from 'zod';
import { EMBEDDED_DEADLINE_MS } from './embedded.ts';
import { MODEL } from './model-names.ts';
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

const MODELS = { gym: MODEL.gym, training_service: MODEL.trainingService } as const;
type TargetType = keyof typeof MODELS;

/** The copy of a boost, from the events of store-billing. */
export interface BoostCopy {
  id: number;
  /** 1: basic, 2: pro. */
  level: number;
  /** Missing from copies that an older release stored. */
  startsAt?: Date;
  endsAt: Date;
}

/** A target with what its service has stored about its boosts. */
export interface Boostable {
  id: number;
  /** When the last boost ends. The epoch for a target that was never boosted. */
  boostedUntil: Date;
  /** The last boost. An older release does not store it with `boostedUntil`. */
  boost: BoostCopy | null;
}

/** The running boost in the copy: null without one, undefined if an older release stored an incomplete copy. */
const fromCopy = (
  type: TargetType,
  { id: boostable_id, boostedUntil, boost }: Boostable,
  now: Date,
): BoostResource | null | undefined => {
  if (boostedUntil <= now) return null;
  if (boost?.startsAt === undefined || boost.endsAt.getTime() !== boostedUntil.getTime()) return undefined;
  const { id, level, startsAt, endsAt } = boost;
  // A boost starts when it is granted.
  const starts_at = formatTimestamp(startsAt);
  const times = { starts_at, ends_at: formatTimestamp(endsAt), created_at: starts_at };
  return { id, boostable_type: MODELS[type], boostable_id, level, ...times };
};

const FIND_DEADLINE_MS = 3_000;

export const createBoostReader = (storeBilling: GrpcClient<StoreBillingDefinition>, log: Logger) => {
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
    /** Running boosts by target id, in one call. Throws `unavailable` if there is no answer. */
    find: (type: TargetType, ids: readonly number[]) => ask(type, ids, FIND_DEADLINE_MS),
    /**
     * The boosts to show, by target id. A single target asks store-billing, because its event may not have arrived yet. A list
     * shows the copies. Without an answer in time the copy is shown. Throws `unavailable` only if that copy is incomplete.
     */
    show: async (
      type: TargetType,
      targets: readonly Boostable[],
      { now, isList = false }: { now: Date; isList?: boolean },
    ): Promise<Map<number, BoostResource | null>> => {
      const copies = targets.map((target) => [target.id, fromCopy(type, target, now)] as const);
      const asked = copies.filter(([, copy]) => !isList || copy === undefined).map(([id]) => id);
      try {
        const answer = await ask(type, asked, EMBEDDED_DEADLINE_MS);
        const isAsked = new Set(asked);
        return new Map(
          copies.map(([id, copy]) => [id, isAsked.has(id) ? (answer.get(id) ?? null) : (copy ?? null)]),
        );
      } catch (error) {
        log.warn({ err: error, type }, 'shown with the copies of boosts');
        return new Map(
          copies.map(([id, copy]) => {
            if (copy === undefined) throw error;
            return [id, copy];
          }),
        );
      }
    },
  };
};

export type BoostReader = ReturnType<typeof createBoostReader>;
