/** PUT /gyms/{id}/crowd: how many are there now, and how many fit in. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { invalid, message } from '@fitness/shared/error.ts';
import type { Gym } from '../domain/gym.ts';
import { findForChange } from './find-for-change.ts';
import type { Parts } from './parts.ts';

interface CrowdReport {
  current: number;
  /** The one known before when it is not said again. */
  capacity?: number | undefined;
}

export type SetCrowd = (id: number, report: CrowdReport, caller: UserCaller) => Promise<Gym>;

/** Throws 404 and 403, and 422 when no capacity was ever given. */
export const createSetCrowd =
  ({ gyms, clock, transact }: Parts): SetCrowd =>
  (id, { current, capacity: given }, caller) =>
    transact(async (session) => {
      const gym = await findForChange(gyms, id, caller, session);
      const capacity = given ?? gym.crowd?.capacity;
      if (capacity === undefined) throw invalid({ capacity: message('validation.required') });
      return gyms.change(session, gym, { crowd: { current, capacity } }, { now: clock.now(), quiet: true });
    });
