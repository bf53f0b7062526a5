import { clearDocument, renameLicense } from '@fitness/contracts/license.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { internalError, message, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import { effectStarted } from '@fitness/shared/kernel/request-scope.ts';
import { isOutcomeUnknown } from '@fitness/shared/mongo/transaction.ts';
import type { Dependencies } from '../../dependencies.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import { licenseChanges, licenseOf, nameOf } from '../../domain/trainer-license.ts';
import type { User } from '../../domain/user.ts';
import { assertCurrentPassword, findOwnAccount } from '../sign-in/own-account.ts';
import { type SecurityNotices, securityChanges } from '../sign-in/security-notices.ts';
import type { SendCode } from '../sign-in/send-code.ts';
import type { SmsBudget } from '../sign-in/sms-budget.ts';
import {
  changesBankAccount,
  changesContact,
  changesForToken,
  changesNames,
  changesPhone,
  type OwnChanges,
  withBankAccount,
} from './profile-changes.ts';
import { assertNotTaken, rejectTaken } from './unique-fields.ts';

interface UpdateProfileDependencies extends Dependencies {
  smsBudget: SmsBudget;
  sendCode: SendCode;
  securityNotices: SecurityNotices;
}

/**
 * Updates the caller's profile. A code is sent to a new phone, which takes effect once the code is confirmed. The current phone
 * withdraws that code. With the password, and without a change that needs it, the current phone receives a code that proves
 * it.
 *
 * 422: a taken field, or a new email, phone or bank account without the password. The route has judged the values. 429: too many passwords or SMS. 403: a new
 * username, email, phone or bank account with a token other than a session's. 500: the SMS was not sent.
 */
type UpdateProfile = (
  caller: UserCaller,
  changes: OwnChanges,
  input: { password: string | undefined; clientAddress: string; locale: Locale },
) => Promise<User>;

export const createUpdateProfile = (dependencies: UpdateProfileDependencies): UpdateProfile => {
  const { store, licenseDocuments, smsBudget, sendCode, securityNotices, log } = dependencies;

  const save = async (
    { _id: userId, trainer_license_media_id: clearedMediaId }: User,
    { phone, trainer_license_image, ...fields }: OwnChanges,
    isCodeSent: boolean,
  ): Promise<User> => {
    // Media first: if it cannot be reached, nothing is changed and the request can be repeated.
    if (trainer_license_image === null && clearedMediaId !== null) {
      await licenseDocuments.delete(userId, clearedMediaId);
    }
    const updated = await rejectTaken(dependencies, () =>
      store.transaction(async (session) => {
        const current = await store.users.find(userId, session);
        if (current === null) return null;
        const changes = omitUndefined(fields);
        const before = licenseOf(current);
        const license = renameLicense(
          trainer_license_image === null ? clearDocument(before, clearedMediaId) : before,
          { from: nameOf(current), to: nameOf({ ...current, ...changes }), isVerdict: false },
        );
        const user = await store.users.update(session, userId, {
          ...changes,
          ...licenseChanges(current, license),
        });
        if (user === null) return null;
        if (phone === current.phone && !isCodeSent) await store.codes.withdraw(session, userId, 'phone');
        for (const change of securityChanges(current, user)) {
          await securityNotices.notify(session, user, change, 'account', current.email);
        }
        return user;
      }),
    );
    if (updated === null) throw unauthenticated();
    return updated;
  };

  return async (caller, requested, { locale, ...input }) => {
    const user = await findOwnAccount(dependencies, caller.userId);
    // Before the password is verified, because a token that must not change credentials must not try passwords either.
    const changes = changesForToken(caller, user, withBankAccount(user, requested));
    const isNewPhone = changesPhone(user, changes);
    const needsPassword = changesContact(user, changes) || changesBankAccount(user, changes);
    // A form that sends every field repeats the phone together with a change that needs the password.
    const provesPhone = changes.phone === user.phone && input.password !== undefined && !needsPassword;
    const phone = isNewPhone || provesPhone ? changes.phone : undefined;
    if (needsPassword || phone !== undefined) await assertCurrentPassword(dependencies, user, input);
    if (changesNames(user, changes)) await takeNameChange(dependencies, input.clientAddress);
    await assertNotTaken(dependencies, changes, user._id);
    if (phone === undefined) return save(user, changes, false);
    await smsBudget.takeSignedIn(phone);
    // Before everything else, because nothing is changed without the SMS.
    const code = await sendCode('phone', { userId: user._id, phone, locale });
    if (code.outcome === 'failed')
      throw internalError('auth.phone_sms_failed', message('auth.phone_sms_failed'));
    // From now on a 503 does not mean that no SMS was sent.
    effectStarted();
    try {
      return await save(user, changes, true);
    } catch (error) {
      if (isOutcomeUnknown(error)) throw error;
      await code.withdraw().catch((err: unknown) => log.warn({ err }, 'a code was not withdrawn'));
      throw error;
    }
  };
};

/** Throws 429. As with registrations, one account after the other could find out which names are taken. */
const takeNameChange = async (
  { limiter, limits: { nameChanges } }: Pick<Dependencies, 'limiter' | 'limits'>,
  address: string,
): Promise<void> => {
  if (nameChanges === undefined) return;
  const state = await limiter.consume(nameChanges, `address:${address}`);
  if (!state.allowed) throw rateLimited(state);
};
