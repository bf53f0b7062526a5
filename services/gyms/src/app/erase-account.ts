/**
 * An account was erased. Its ratings stay in the averages, without the user. Owning a gym blocks an
 * erasure; a gym that the account received at the same time loses its owner, and the license document, which names a
 * person.
 */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { reviewLicense } from '../domain/license.ts';
import { publishChanged, publishLicenseCleared } from './publish.ts';

export const createEraseAccount =
  ({ store, outbox, clock }: Pick<Dependencies, 'store' | 'outbox' | 'clock'>) =>
  async (session: ClientSession, userId: number): Promise<void> => {
    await store.owners.markErased(session, userId);
    await store.ratings.pseudonymise(session, userId);
    for (const gym of await store.gyms.findOwnedBy(session, userId)) {
      const { license, clearedMediaId } = reviewLicense(gym.license, { clearDocument: true });
      const changed = await store.gyms.update(session, gym, { ownerId: null, license }, { now: clock.now() });
      await publishChanged(outbox, session, changed);
      if (clearedMediaId !== null) await publishLicenseCleared(outbox, session, changed, clearedMediaId);
    }
  };
