/** PUT /gyms/{id}/crowd. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';
import { findForChange } from './find-for-change.ts';
import { recordGymChange } from './record-gym-change.ts';

interface CrowdReport {
  /** Number of people in the gym now. */
  current: number;
  /** Number of people that the gym has room for. Defaults to the previous capacity. */
  capacity?: number | undefined;
}

/** Throws 404 and 403, and 422 when no capacity was ever set. */
export const createSetCrowd =
  ({ store, clock, audit }: Dependencies) =>
  (id: number, { current, capacity: reported }: CrowdReport, caller: UserCaller): Promise<Gym> =>
    store.transaction(async (session) => {
      const gym = await findForChange(store.gyms, id, caller, session);
      const capacity = reported ?? gym.crowd?.capacity;
      if (capacity === undefined) throw invalid({ capacity: message('validation.required') });
      const crowd = { current, capacity };
      const after = await store.gyms.update(session, gym, { crowd }, { now: clock.now(), keepVersion: true });
      await recordGymChange({ store, audit }, session, caller, { before: gym, after });
      return after;
    });
