import type { Dependencies } from '../dependencies.ts';
import type { Subscription } from '../domain/grant.ts';

/** The running subscriptions of these users. A user without one is missing in the result. */
export const createGetSubscriptions =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  (userIds: readonly number[]): Promise<Subscription[]> =>
    store.grants.runningSubscriptions(userIds, clock.now());
