import { attachDocument } from '@fitness/contracts/license.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';

interface LicenseDocument {
  gymId: number;
  mediaId: number;
  filename: string;
}

/**
 * Records a license document that media has stored, in the transaction of `session` or else in a new one. Returns whether the
 * document is now the license of the gym, or undefined when the gym does not exist.
 */
export const createAttachLicense = ({ store, clock }: Dependencies) => {
  const attach = async (session: ClientSession, { gymId, mediaId, filename }: LicenseDocument) => {
    const gym = await store.gyms.find(gymId, session);
    if (gym === undefined) return undefined;
    const license = attachDocument(gym.license, { mediaId, filename });
    if (license === undefined) return gym.license.mediaId === mediaId;
    await store.gyms.update(session, gym, { license }, { now: clock.now(), keepVersion: true });
    return true;
  };
  return (document: LicenseDocument, session?: ClientSession): Promise<boolean | undefined> =>
    session === undefined
      ? store.transaction((opened) => attach(opened, document))
      : attach(session, document);
};
