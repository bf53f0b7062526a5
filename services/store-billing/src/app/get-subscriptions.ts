import type { Dependencies } from '../dependencies.ts';
import type { Subscription } from '../domain/grant.ts';

/** The running subscriptions of these users. Users without one are missing from the result. */
export const createGetSubscriptions =
  ({ store, clock }: Dependencies) =>
  (userIds: readonly number[]): Promise<Subscription[]> =>
    store.grants.runningSubscriptions(userIds, clock.now());
