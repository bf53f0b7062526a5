import { detachDocument } from '@fitness/contracts/license.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { licenseChanges, licenseOf } from '../../domain/trainer-license.ts';
import type { DeliverNotification } from '../notifications/deliver-notification.ts';
import { REMOVED_LICENSE } from '../notifications/notification-resource.ts';

interface DeletedDocument {
  userId: number;
  mediaId: number;
  byOperator: boolean;
  at: Date;
}

/** Records that media has deleted a license document. The trainer is notified if an operator deleted it. */
type DetachLicense = (document: DeletedDocument, session: ClientSession) => Promise<void>;

export const createDetachLicense =
  ({
    store,
    deliverNotification,
  }: Dependencies & { deliverNotification: DeliverNotification }): DetachLicense =>
  async ({ userId, mediaId, byOperator, at }, session) => {
    const user = await store.users.find(userId, session);
    const license = user === null ? undefined : detachDocument(licenseOf(user), mediaId);
    if (user === null || license === undefined) return;
    await store.users.update(session, userId, licenseChanges(user, license));
    if (!byOperator || user.trainer_license_media_id !== mediaId) return;
    await deliverNotification(session, {
      userId,
      type: 'trainer_license_reviewed',
      data: REMOVED_LICENSE,
      at,
    });
  };
