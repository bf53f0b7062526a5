import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';

/** Every token of the grant is 401 from then on. 404 for a grant that the user does not have. */
export const createRevokeGrant =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (userId: number, id: number): Promise<void> => {
    // The 404 comes after the commit, so that it also waits until no gateway remembers: a repeat may be the first answer.
    const isDeleted = await store.transaction((session) =>
      store.oauth.revokeNumberedGrant(session, userId, id),
    );
    if (!isDeleted) throw notFound();
  };
