/** PUT /gyms/{id}/working-periods: the whole week at once. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { invalid, message } from '@fitness/shared/error.ts';
import type { Gym } from '../domain/gym.ts';
import { overlap, type WorkingPeriod } from '../domain/working-periods.ts';
import { findForChange } from './find-for-change.ts';
import type { Parts } from './parts.ts';

export type SetWorkingPeriods = (id: number, periods: WorkingPeriod[], caller: UserCaller) => Promise<Gym>;

/** Throws 422 for periods that overlap, 404 and 403. */
export const createSetWorkingPeriods =
  ({ gyms, clock, transact }: Parts): SetWorkingPeriods =>
  async (id, periods, caller) => {
    if (overlap(periods)) throw invalid({ working_periods: message('gyms.periods_overlap') });
    const ordered = periods.toSorted((a, b) => a.weekday - b.weekday || a.opensAt.localeCompare(b.opensAt));
    return transact(async (session) => {
      const gym = await findForChange(gyms, id, caller, session);
      return gyms.change(session, gym, { workingPeriods: ordered }, { now: clock.now(), quiet: true });
    });
  };
