/** PUT /gyms/{id}/working-periods: replaces the whole week. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';
import { overlap, type WorkingPeriod } from '../domain/working-periods.ts';
import { findForChange } from './find-for-change.ts';
import { recordGymChange } from './record-gym-change.ts';

/** Throws 404 and 403, and 422 for periods that overlap. */
export const createSetWorkingPeriods =
  ({ store, clock, audit }: Dependencies) =>
  async (id: number, periods: WorkingPeriod[], caller: UserCaller): Promise<Gym> => {
    if (overlap(periods)) throw invalid({ working_periods: message('gyms.periods_overlap') });
    const workingPeriods = periods.toSorted(
      (a, b) => a.weekday - b.weekday || a.opensAt.localeCompare(b.opensAt),
    );
    return store.transaction(async (session) => {
      const gym = await findForChange(store.gyms, id, caller, session);
      const options = { now: clock.now(), keepVersion: true };
      const after = await store.gyms.update(session, gym, { workingPeriods }, options);
      await recordGymChange({ store, audit }, session, caller, { before: gym, after });
      return after;
    });
  };
