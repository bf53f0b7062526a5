import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';

/** Revokes a grant: all of its tokens then get 401. Throws 404 for a grant that the user does not have. */
export const createRevokeGrant =
  ({ store }: Dependencies) =>
  async (userId: number, id: number): Promise<void> => {
    // The 404 comes after the commit and also waits for the gateways: the response to an earlier call may have been lost.
    const isDeleted = await store.transaction((session) =>
      store.oauth.revokeNumberedGrant(session, userId, id),
    );
    if (!isDeleted) throw notFound();
  };
