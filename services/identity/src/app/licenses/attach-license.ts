import { attachDocument } from '@fitness/contracts/license.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { licenseChanges, licenseOf } from '../../domain/trainer-license.ts';

interface LicenseDocument {
  userId: number;
  mediaId: number;
  filename: string;
}

/**
 * Records a license document that media has stored. Returns true when it is the account's license afterwards, and undefined
 * when there is no such live account. Without `session` it starts a transaction.
 */
export type AttachLicense = (
  document: LicenseDocument,
  session?: ClientSession,
) => Promise<boolean | undefined>;

export const createAttachLicense = ({ store }: Dependencies): AttachLicense => {
  const attach = async (
    session: ClientSession,
    { userId, mediaId, filename }: LicenseDocument,
  ): Promise<boolean | undefined> => {
    const user = await store.users.find(userId, session);
    if (user === null) return undefined;
    const license = attachDocument(licenseOf(user), { mediaId, filename });
    if (license === undefined) return user.trainer_license_media_id === mediaId;
    await store.users.update(session, userId, licenseChanges(user, license));
    return true;
  };
  return (document, session) =>
    session === undefined ? store.transaction((own) => attach(own, document)) : attach(session, document);
};
