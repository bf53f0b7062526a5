/** The premium subscription resource (specification 2.7), and its reader. */
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
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

type Subscriptions = ReadonlyMap<number, SubscriptionResource>;

/** The most users that store-billing accepts in a call. */
const MAX_USERS = 200;
const NONE: Subscriptions = new Map();

export const createSubscriptionReader = (storeBilling: GrpcClient<StoreBillingDefinition>, log: Logger) => {
  const read = createTickBatch(async (userIds: number[]): Promise<Subscriptions> => {
    try {
      const answer = await storeBilling.call(
        'GetSubscriptions',
        { user_ids: userIds },
        { deadlineMs: EMBEDDED_DEADLINE_MS },
      );
      // The message has the fields of the resource.
      return new Map(answer.subscriptions.map((row) => [row.user_id, row]));
    } catch (error) {
      log.warn({ err: error }, 'shown without subscriptions');
      return NONE;
    }
  }, MAX_USERS);
  return {
    /**
     * Running subscriptions by user id. The map may include other users. Callers in one tick of the event loop share a call.
     * Never rejects: without an answer in time the map is empty.
     */
    findOrEmpty: async (userIds: readonly number[]) => (userIds.length === 0 ? NONE : read(userIds)),
  };
};

export type SubscriptionReader = ReturnType<typeof createSubscriptionReader>;
