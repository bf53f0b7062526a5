/** Running premium subscriptions, asked of store-billing. */
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';

export interface SubscriptionResource {
  id: number;
  user_id: number;
  type: string;
  starts_at: string;
  expires_at: string;
  created_at: string;
}

export interface Subscriptions {
  /** By user id, one call for all. Decoration: empty when store-billing does not answer in time. */
  findRunning(userIds: readonly number[]): Promise<Map<number, SubscriptionResource>>;
}

const DECORATION_DEADLINE_MS = 500;

export const createSubscriptions = (
  storeBilling: GrpcClient<StoreBillingDefinition>,
  log: Logger,
): Subscriptions => ({
  findRunning: async (userIds) => {
    if (userIds.length === 0) return new Map();
    try {
      const request = { user_ids: [...userIds] };
      const answer = await storeBilling.call('GetSubscriptions', request, {
        deadlineMs: DECORATION_DEADLINE_MS,
      });
      return new Map(answer.subscriptions.map((subscription) => [subscription.user_id, subscription]));
    } catch (error) {
      log.warn({ err: error }, 'users are shown without their subscription');
      return new Map();
    }
  },
});
