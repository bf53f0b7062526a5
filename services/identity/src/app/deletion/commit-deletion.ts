/** Phase 2 of deleting one's account (specification 4.1): schedules the erasure and revokes every credential. */
import { accountDeletionRequested } from '@fitness/proto/events/identity.ts';
import { type AppError, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { type DeletionSchedule, scheduleDeletion, toDeletionSchedule } from '../../domain/deletion.ts';
import type { User } from '../../domain/user.ts';
import { assertPassword, findOwnAccount, type PasswordInput } from '../sign-in/own-account.ts';
import { publishCredentialsRevoked } from '../sign-in/publish-credentials-revoked.ts';
import type { SecurityNotices } from '../sign-in/security-notices.ts';
import { assertNoBlockers } from './deletion-blockers.ts';

/** 422: wrong password or rejected code. 409: blocked. 503: a blocker cannot be evaluated. */
type CommitDeletion = (
  userId: number,
  input: PasswordInput & { code: string; locale: Locale },
) => Promise<DeletionSchedule>;

export const createCommitDeletion = (
  dependencies: Dependencies & { securityNotices: SecurityNotices },
): CommitDeletion => {
  const { store, outbox, clock, graceDays, backgroundTasks, securityNotices } = dependencies;

  const schedule = async (
    session: ClientSession,
    userId: number,
    codeId: string,
    locale: Locale,
  ): Promise<DeletionSchedule> => {
    const now = clock.now();
    if (!(await store.codes.consume(session, userId, 'deletion', codeId, now))) throw codeRejected();
    const dates = scheduleDeletion(now, graceDays);
    const user = await store.users.scheduleDeletion(session, userId, dates);
    // The deletion is already pending: the code was sent before it was scheduled.
    if (user === null) throw codeRejected();
    await store.tokens.revokeAll(session, userId);
    const scheduled = toDeletionSchedule(dates);
    await outbox.publish(session, accountDeletionRequested, {
      subject: userId,
      aggregateVersion: user.version,
      data: { user_id: userId, ...scheduled },
    });
    const account = { userId, version: user.version };
    await publishCredentialsRevoked(dependencies, session, account, 'deletion_scheduled');
    const sms = { notice: 'deletion_scheduled', schedule: scheduled, phone: user.phone, locale } as const;
    await securityNotices.requestSms(session, user, sms);
    return scheduled;
  };

  const checkCode = (user: User, code: string): Promise<string | undefined> =>
    store.transaction(
      async (session) => {
        const codeId = await store.codes.check(user._id, 'deletion', code, clock.now(), {
          lockout: {
            session,
            onLocked: () => securityNotices.notify(session, user, 'codes_locked', 'account'),
          },
        });
        // The phone is proven even if a blocker stops the deletion.
        if (codeId !== undefined && !user.phone_proven) await store.users.provePhone(session, user._id);
        return codeId;
      },
      { isEffect: false },
    );

  return async (userId, { code, locale, ...input }) => {
    const user = await findOwnAccount(dependencies, userId);
    await assertPassword(dependencies, user, input);
    const codeId = await checkCode(user, code);
    if (codeId === undefined) {
      // An earlier call may have scheduled the deletion without completing the revocation. The response does not wait, and
      // the work is the same in every case, so neither reveals whether a deletion is pending.
      backgroundTasks.run('repeated revocation', () => store.repeatRevocation(userId));
      throw codeRejected();
    }
    await assertNoBlockers(dependencies, userId);
    return store.transaction((session) => schedule(session, userId, codeId, locale));
  };
};

/** The same error for every reason, so that it does not reveal whether a deletion was requested. */
const codeRejected = (): AppError => invalid({ confirmation_code: message('deletion.code_rejected') });
