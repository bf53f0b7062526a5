import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { existsForChange, type Gym, neededForUpdate } from '../domain/gym.ts';
import type { Gyms } from '../store/gyms.ts';

/** Throws 404 when the gym does not exist for the caller, and 403 when they lack one of `needs`. */
export const findForChange = async (
  gyms: Gyms,
  id: number,
  caller: UserCaller,
  session: ClientSession | undefined,
  needs: (gym: Gym) => readonly Permission[] = (gym) => [neededForUpdate(gym, caller)],
): Promise<Gym> => {
  const gym = await gyms.find(id, session);
  if (gym === undefined || !existsForChange(gym, caller)) throw notFound();
  const needed = needs(gym);
  if (!needed.every((permission) => can(caller, permission)))
    throw missingPermission(caller, { alsoNeeds: needed });
  return gym;
};
