/**
 * An account was erased (contract 2.2). Its ratings stay in the averages and forget who gave them. Owning a gym stands
 * in the way of an erasure; should one have been given to the account at the last moment, it has no owner any more,
 * and the licence document, which names a person, goes with him.
 */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { reviewLicense } from '../domain/license.ts';
import type { Parts } from './parts.ts';
import { tellChanged, tellLicenseCleared } from './tell.ts';

export type ForgetAccount = (session: ClientSession, userId: number) => Promise<void>;

export const createForgetAccount =
  ({ gyms, owners, ratings, outbox, clock }: Parts): ForgetAccount =>
  async (session, userId) => {
    await owners.erase(session, userId);
    await ratings.pseudonymise(session, userId);
    for (const gym of await gyms.findOwnedBy(session, userId)) {
      const { license, clearedMediaId } = reviewLicense(gym.license, { clearDocument: true });
      const changed = await gyms.change(session, gym, { ownerId: null, license }, { now: clock.now() });
      await tellChanged(outbox, session, changed);
      if (clearedMediaId !== null) await tellLicenseCleared(outbox, session, changed, clearedMediaId);
    }
  };
