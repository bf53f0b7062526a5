/** The license document of a gym, which media stores and deletes. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { attachDocument, detachDocument } from '../domain/license.ts';

interface LicenseDocument {
  gymId: number;
  mediaId: number;
  filename: string;
}

/**
 * In the transaction of `session`, or in its own without one. Returns whether the document is the license of the gym now;
 * undefined when the gym does not exist.
 */
export const createAttachLicense = ({
  store,
  clock,
  transact,
}: Pick<Dependencies, 'store' | 'clock' | 'transact'>) => {
  const attach = async (session: ClientSession, { gymId, mediaId, filename }: LicenseDocument) => {
    const gym = await store.gyms.find(gymId, session);
    if (gym === undefined) return undefined;
    const license = attachDocument(gym.license, { mediaId, filename });
    if (license === undefined) return gym.license.mediaId === mediaId;
    await store.gyms.change(session, gym, { license }, { now: clock.now(), keepVersion: true });
    return true;
  };
  return (document: LicenseDocument, session?: ClientSession): Promise<boolean | undefined> =>
    session === undefined ? transact((own) => attach(own, document)) : attach(session, document);
};

export const createDetachLicense =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  async (
    { gymId, mediaId }: Pick<LicenseDocument, 'gymId' | 'mediaId'>,
    session: ClientSession,
  ): Promise<void> => {
    const gym = await store.gyms.find(gymId, session);
    const license = gym && detachDocument(gym.license, mediaId);
    if (gym === undefined || license === undefined) return;
    await store.gyms.change(session, gym, { license }, { now: clock.now(), keepVersion: true });
  };
