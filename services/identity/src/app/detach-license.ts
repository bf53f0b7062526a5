import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { detachDocument } from '../domain/trainer-license.ts';

/** Records that media has deleted a license document. */
type DetachLicense = (document: { userId: number; mediaId: number }, session: ClientSession) => Promise<void>;

export const createDetachLicense =
  ({ users }: Pick<Dependencies, 'users'>): DetachLicense =>
  async ({ userId, mediaId }, session) => {
    const user = await users.findById(userId, session);
    const license = user === null ? undefined : detachDocument(user, mediaId);
    if (license !== undefined) await users.update(session, userId, license);
  };
