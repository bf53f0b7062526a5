import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { detachDocument } from '../domain/trainer-license.ts';

/** Records that media has deleted a license document. */
type DetachLicense = (document: { userId: number; mediaId: number }, session: ClientSession) => Promise<void>;

export const createDetachLicense =
  ({ store }: Pick<Dependencies, 'store'>): DetachLicense =>
  async ({ userId, mediaId }, session) => {
    const user = await store.users.find(userId, session);
    const license = user === null ? undefined : detachDocument(user, mediaId);
    if (license !== undefined) await store.users.update(session, userId, license);
  };
