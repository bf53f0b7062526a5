/** Phase 1 of deleting one's account (specification 4.1): sends a confirmation code and schedules nothing. */
import { AppError, message } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Dependencies } from '../../dependencies.ts';
import { type DeletionSchedule, toDeletionSchedule } from '../../domain/deletion.ts';
import type { User } from '../../domain/user.ts';
import { assertPassword, findOwnAccount, type PasswordInput } from '../sign-in/own-account.ts';
import type { SendCode } from '../sign-in/send-code.ts';
import type { SmsBudget } from '../sign-in/sms-budget.ts';
import { assertNoBlockers } from './deletion-blockers.ts';

interface ArmDeletionDependencies extends Dependencies {
  smsBudget: SmsBudget;
  sendCode: SendCode;
}

type ArmResult = { state: 'code_sent' } | { state: 'already_pending'; schedule: DeletionSchedule };

/** 422: wrong password. 409: blocked. 429: too many SMS. 503: a blocker cannot be evaluated. 500: no SMS was sent. */
type ArmDeletion = (userId: number, input: PasswordInput & { locale: Locale }) => Promise<ArmResult>;

export const createArmDeletion =
  (dependencies: ArmDeletionDependencies): ArmDeletion =>
  async (userId, { locale, ...input }) => {
    const user = await findOwnAccount(dependencies, userId);
    // Evaluated while the password is verified, which takes longer. Without the correct password the result is not
    // revealed.
    const unblocked = assertNoBlockers(dependencies, userId);
    unblocked.catch(() => {});
    await assertPassword(dependencies, user, input);
    const schedule = pendingSchedule(user);
    if (schedule !== undefined) {
      await dependencies.store.repeatRevocation(userId);
      return { state: 'already_pending', schedule };
    }
    await unblocked;
    await dependencies.smsBudget.takeSignedIn(user.phone);
    const { outcome } = await dependencies.sendCode('deletion', { userId, phone: user.phone, locale });
    if (outcome === 'failed') throw smsFailed();
    return { state: 'code_sent' };
  };

const pendingSchedule = (user: User): DeletionSchedule | undefined => {
  const { deletion_requested_at: requestedAt, deletion_scheduled_at: scheduledAt } = user;
  if (requestedAt === null || scheduledAt === null) return undefined;
  return toDeletionSchedule({ requestedAt, scheduledAt });
};

const smsFailed = (): AppError =>
  new AppError({ kind: 'internal', code: 'deletion.sms_failed', message: message('deletion.sms_failed') });
