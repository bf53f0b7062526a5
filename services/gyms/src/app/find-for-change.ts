import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { existsForChange, type Gym, mayUpdate } from '../domain/gym.ts';
import type { Gyms } from '../store/gyms.ts';

/** Throws 404 when the gym does not exist for the caller, 403 when `may` refuses. */
export const findForChange = async (
  gyms: Gyms,
  id: number,
  caller: UserCaller,
  session: ClientSession | undefined,
  may: (gym: Gym, caller: UserCaller) => boolean = mayUpdate,
): Promise<Gym> => {
  const gym = await gyms.find(id, session);
  if (gym === undefined || !existsForChange(gym, caller)) throw notFound();
  if (!may(gym, caller)) throw forbidden();
  return gym;
};
