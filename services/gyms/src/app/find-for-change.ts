import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound } from '@fitness/shared/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { existsForChange, type Gym, mayUpdate } from '../domain/gym.ts';
import type { GymStore } from '../store/gym-store.ts';

/** The gym that the caller wants to change; 404 when it is not there for him, 403 when `may` says no. */
export const findForChange = async (
  gyms: GymStore,
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
