/** POST /gyms: the caller becomes the owner. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Gym, newGym } from '../domain/gym.ts';
import type { GymDetails } from '../domain/gym-fields.ts';
import { checkReferences } from './check-references.ts';
import { publishChanged } from './publish.ts';

/** Throws 422 for an unknown city or major, and 403 when the caller's account was erased meanwhile. */
export const createCreateGym =
  (dependencies: Dependencies) =>
  async (details: Omit<Partial<GymDetails>, 'ownerId'>, caller: UserCaller): Promise<Gym> => {
    const { store, sequences, clock, outbox } = dependencies;
    await checkReferences(dependencies, details);
    await store.owners.ensureExists(caller.userId);
    const id = await sequences.next('gym');
    const gym = newGym(id, { ...details, ownerId: caller.userId }, clock.now());
    await store.transaction(async (session) => {
      if (!(await store.owners.lockUnlessErased(session, caller.userId)))
        throw forbidden('the account is erased');
      await store.gyms.insert(session, gym);
      await publishChanged(outbox, session, gym);
    });
    return gym;
  };
