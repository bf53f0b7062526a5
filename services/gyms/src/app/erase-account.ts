/**
 * Erases an account. Its ratings stay in the averages, without the user. Owning a gym blocks an erasure, but the account may have
 * received a gym at the same time. Such a gym loses its owner and its license document, which names a person.
 */
import { reviewLicense } from '@fitness/contracts/license.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { publishChanged, publishLicenseCleared } from './publish.ts';

/** Each gym is written with its counters and up to two events. */
const GYMS_OF_A_STEP = 50;

/** Runs one step. The mark comes first: after it, nothing more is stored about the account. */
export const createEraseAccount = (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'clock'>) => {
  const { store, outbox, clock } = dependencies;

  const releaseGyms = async (session: ClientSession, userId: number, limit: number): Promise<number> => {
    const gyms = await store.gyms.findOwnedBy(session, userId, Math.min(limit, GYMS_OF_A_STEP));
    for (const gym of gyms) {
      const { license, clearedMediaId } = reviewLicense(gym.license, { clearDocument: true });
      const changed = await store.gyms.update(session, gym, { ownerId: null, license }, { now: clock.now() });
      await publishChanged(outbox, session, changed);
      if (clearedMediaId !== null) await publishLicenseCleared(outbox, session, changed, clearedMediaId);
    }
    return gyms.length < GYMS_OF_A_STEP ? gyms.length : limit;
  };

  return async (session: ClientSession, userId: number): Promise<Rest> => {
    await store.owners.markErased(session, userId);
    return oneStep(
      // Gyms come first: a license document names a person, whereas nobody sees who gave a rating.
      (limit) => releaseGyms(session, userId, limit),
      (limit) => store.ratings.pseudonymise(session, userId, limit),
    );
  };
};
