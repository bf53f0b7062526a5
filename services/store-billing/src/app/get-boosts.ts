import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/grant.ts';
import type { Target } from '../domain/target.ts';

/** The live boosts of these targets. Targets without one are missing from the result. */
export const createGetBoosts =
  ({ store, clock }: Dependencies) =>
  (targets: readonly Target[]): Promise<Boost[]> =>
    store.grants.liveBoosts(targets, clock.now());
