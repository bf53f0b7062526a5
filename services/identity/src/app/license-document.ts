/** The licence document of a trainer, as media stores, replaces and deletes it. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { attachDocument, forgetDocument } from '../domain/trainer-license.ts';
import type { UserStore } from '../store/users.ts';

export interface LicenceDocument {
  userId: number;
  mediaId: number;
  filename: string;
}

/** Undefined: there is no such live account. Otherwise whether the document is its licence now. */
export type AttachLicence = (
  session: ClientSession,
  document: LicenceDocument,
) => Promise<boolean | undefined>;

export const createAttachLicence =
  (users: UserStore): AttachLicence =>
  async (session, { userId, mediaId, filename }) => {
    const user = await users.findById(userId, session);
    if (user === null) return undefined;
    const licence = attachDocument(user, { mediaId, filename });
    if (licence === undefined) return user.trainer_license_media_id === mediaId;
    await users.update(session, userId, licence);
    return true;
  };

export type ForgetLicence = (
  session: ClientSession,
  document: { userId: number; mediaId: number },
) => Promise<void>;

export const createForgetLicence =
  (users: UserStore): ForgetLicence =>
  async (session, { userId, mediaId }) => {
    const user = await users.findById(userId, session);
    const licence = user === null ? undefined : forgetDocument(user, mediaId);
    if (licence !== undefined) await users.update(session, userId, licence);
  };
