import { detachDocument } from '@fitness/contracts/license.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { publishLicenseReviewed } from './publish.ts';

interface DeletedDocument {
  gymId: number;
  mediaId: number;
  byOperator: boolean;
}

/** Records that media has deleted a license document. The owner is notified if an operator deleted it. */
export const createDetachLicense =
  ({ store, clock, outbox }: Dependencies) =>
  async ({ gymId, mediaId, byOperator }: DeletedDocument, session: ClientSession): Promise<void> => {
    const gym = await store.gyms.find(gymId, session);
    const license = gym && detachDocument(gym.license, mediaId);
    if (gym === undefined || license === undefined) return;
    const changed = await store.gyms.update(
      session,
      gym,
      { license },
      { now: clock.now(), keepVersion: true },
    );
    if (byOperator && gym.license.mediaId === mediaId)
      await publishLicenseReviewed(outbox, session, changed, null);
  };
