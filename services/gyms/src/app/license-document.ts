/** The licence document of a gym, as media stores, replaces and deletes it. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { attachDocument, forgetDocument } from '../domain/license.ts';
import type { Parts } from './parts.ts';

export interface LicenseDocument {
  gymId: number;
  mediaId: number;
  filename: string;
}

/** Undefined: there is no such gym. Otherwise whether the document is its licence now. */
export type AttachLicense = (
  session: ClientSession,
  document: LicenseDocument,
) => Promise<boolean | undefined>;

export const createAttachLicense =
  ({ gyms, clock }: Pick<Parts, 'gyms' | 'clock'>): AttachLicense =>
  async (session, { gymId, mediaId, filename }) => {
    const gym = await gyms.find(gymId, session);
    if (gym === undefined) return undefined;
    const license = attachDocument(gym.license, { mediaId, filename });
    if (license === undefined) return gym.license.mediaId === mediaId;
    await gyms.change(session, gym, { license }, { now: clock.now(), quiet: true });
    return true;
  };

export type ForgetLicense = (
  session: ClientSession,
  document: { gymId: number; mediaId: number },
) => Promise<void>;

export const createForgetLicense =
  ({ gyms, clock }: Pick<Parts, 'gyms' | 'clock'>): ForgetLicense =>
  async (session, { gymId, mediaId }) => {
    const gym = await gyms.find(gymId, session);
    const license = gym && forgetDocument(gym.license, mediaId);
    if (gym === undefined || license === undefined) return;
    await gyms.change(session, gym, { license }, { now: clock.now(), quiet: true });
  };
