/** The premium subscription resource (specification 2.7), its reader, and the copy that shows it without an answer. */
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { createTickBatch } from '@fitness/shared/kernel/tick-batch.ts';
import { z } from 'zod';
import { EMBEDDED_DEADLINE_MS } from './embedded.ts';
import { timestampSchema } from './timestamp.ts';

export const subscriptionSchema = z
  .object({
    id: z.int(),
    user_id: z.int().meta({ description: 'User id of the subscriber' }),
    type: z.string().meta({ description: 'Premium plan, e.g. `plus`' }),
    starts_at: timestampSchema.meta({ description: 'When the subscription starts' }),
    expires_at: timestampSchema.meta({ description: 'When the subscription ends' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'PremiumSubscription', description: 'A premium subscription' });

export type SubscriptionResource = z.output<typeof subscriptionSchema>;

/** The copy of the last subscription of an account, from the events of store-billing. */
export interface SubscriptionCopy {
  id: number;
  type: string;
  starts_at: Date;
  expires_at: Date;
  /** Version of the event that it comes from. */
  version: number;
}

/** What is stored about the last subscription: null if there was none, undefined if an older release has stored the account. */
export type StoredSubscription = SubscriptionCopy | null | undefined;

/** The running subscription in the copy: null without one, undefined if it is unknown. */
const fromCopy = (
  userId: number,
  copy: StoredSubscription,
  now: Date,
): SubscriptionResource | null | undefined => {
  if (copy === undefined) return undefined;
  if (copy === null || copy.expires_at <= now) return null;
  const { id, type } = copy;
  // A subscription starts when it is granted.
  const starts_at = formatTimestamp(copy.starts_at);
  const times = { starts_at, expires_at: formatTimestamp(copy.expires_at), created_at: starts_at };
  return { id, user_id: userId, type, ...times };
};

/** The most users that store-billing accepts in a call. */
const MAX_USERS = 200;
const FIND_DEADLINE_MS = 3_000;

export const createSubscriptionReader = (storeBilling: GrpcClient<StoreBillingDefinition>, log: Logger) => {
  const ask = async (
    userIds: readonly number[],
    deadlineMs: number,
  ): Promise<ReadonlyMap<number, SubscriptionResource>> => {
    const answer = await storeBilling.call('GetSubscriptions', { user_ids: [...userIds] }, { deadlineMs });
    // The message has the fields of the resource.
    return new Map(answer.subscriptions.map((row) => [row.user_id, row]));
  };
  const askTogether = createTickBatch((ids: number[]) => ask(ids, EMBEDDED_DEADLINE_MS), MAX_USERS);
  return {
    /** The running subscriptions of these users, by user id, in one call. Throws `unavailable` if there is no answer. */
    find: (userIds: readonly number[]) => ask(userIds, FIND_DEADLINE_MS),
    /**
     * The running subscription to show, or null. A single user asks store-billing, because the event may not have arrived yet. A list
     * shows the copies. Without an answer in time the copy is shown. Callers in one tick of the event loop share a call. Throws
     * `unavailable` only without a copy.
     */
    show: async (
      userId: number,
      stored: StoredSubscription,
      { now, isList = false }: { now: Date; isList?: boolean },
    ): Promise<SubscriptionResource | null> => {
      const copy = fromCopy(userId, stored, now);
      if (isList && copy !== undefined) return copy;
      try {
        return (await askTogether([userId])).get(userId) ?? null;
      } catch (error) {
        if (copy === undefined) throw error;
        log.warn({ err: error }, 'shown with the copy of the subscription');
        return copy;
      }
    },
  };
};

export type SubscriptionReader = ReturnType<typeof createSubscriptionReader>;
