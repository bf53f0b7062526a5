/** The second step of changing or proving one's phone: entering the code that was sent to it. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AppError, invalid, message, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { User } from '../../domain/user.ts';
import type { SecurityNotices } from './security-notices.ts';

/** 422 under `code`: a rejected code, or a phone that another account has taken in the meantime. */
type ConfirmPhone = (caller: UserCaller, input: { code: string; locale: Locale }) => Promise<User>;

export const createConfirmPhone = ({
  store,
  clock,
  securityNotices,
}: Dependencies & { securityNotices: SecurityNotices }): ConfirmPhone => {
  const commit = async (
    session: ClientSession,
    userId: number,
    codeId: string,
    locale: Locale,
  ): Promise<User> => {
    const consumed = await store.codes.consume(session, userId, 'phone', codeId, clock.now());
    if (consumed?.phone === undefined) throw codeRejected();
    const before = await store.users.find(userId, session);
    const user = await store.users.update(session, userId, { phone: consumed.phone, phone_proven: true });
    if (before === null || user === null) throw unauthenticated();
    if (before.phone === user.phone) return user;
    // A code that was sent to the old phone proves nothing about the owner of the new one.
    await store.codes.invalidate(session, userId);
    await securityNotices.notify(session, user, 'phone_changed', 'account');
    await securityNotices.requestSms(session, user, { notice: 'phone_changed', phone: before.phone, locale });
    return user;
  };

  return async ({ userId }, { code, locale }) => {
    const codeId = await store.codes.check(userId, 'phone', code, clock.now());
    if (codeId === undefined) throw codeRejected();
    try {
      return await store.transaction((session) => commit(session, userId, codeId, locale));
    } catch (error) {
      if (store.users.takenField(error) !== 'phone') throw error;
      throw invalid({ code: message('auth.phone_taken') });
    }
  };
};

/** The same error for every reason that concerns the code. */
const codeRejected = (): AppError => invalid({ code: message('auth.code_rejected') });
