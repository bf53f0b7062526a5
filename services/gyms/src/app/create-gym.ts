/** POST /gyms: the caller becomes the owner. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden } from '@fitness/shared/error.ts';
import { type Gym, type GymDetails, newGym } from '../domain/gym.ts';
import { checkReferences } from './check-references.ts';
import type { Parts } from './parts.ts';
import { tellChanged } from './tell.ts';

export type CreateGym = (details: Omit<GymDetails, 'ownerId'>, caller: UserCaller) => Promise<Gym>;

/** Throws 422 for an unknown city or major, 403 when the caller's account was erased meanwhile. */
export const createCreateGym =
  (parts: Parts): CreateGym =>
  async (details, caller) => {
    await checkReferences(parts, details);
    await parts.owners.prepare(caller.userId);
    const id = await parts.sequences.next('gym');
    const gym = newGym(id, { ...details, ownerId: caller.userId }, parts.clock.now());
    await parts.transact(async (session) => {
      if (!(await parts.owners.pin(session, caller.userId))) throw forbidden('the account is erased');
      await parts.gyms.insert(session, gym);
      await tellChanged(parts.outbox, session, gym);
    });
    return gym;
  };
