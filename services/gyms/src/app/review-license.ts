/** PUT /gyms/{id} with nothing but fields of a review: an operator's decision about the license (specification 3.2). */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';
import { changeGym, type GymChange } from './change-gym.ts';
import { findForChange } from './find-for-change.ts';

/** Throws 404, and 409 when the license document is not the one that the request names. */
export const createReviewLicense =
  (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'clock' | 'audit' | 'gymQueue'>) =>
  (id: number, review: Omit<GymChange, 'details'>, caller: UserCaller): Promise<Gym> => {
    const { store, gymQueue } = dependencies;
    const write = async (session: ClientSession): Promise<Gym> => {
      // The route has checked `gyms.approve_license`, and a review needs nothing else.
      const gym = await findForChange(store.gyms, id, caller, session, () => []);
      return (await changeGym(dependencies, session, caller, gym, { ...review, details: {} })).gym;
    };
    return gymQueue.run(String(id), () => store.transaction(write));
  };
