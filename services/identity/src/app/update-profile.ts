import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { clearLicense } from '../domain/trainer-license.ts';
import type { User } from '../domain/user.ts';
import { assertCurrentPassword, findOwnAccount } from './own-account.ts';
import {
  assertNotBornInFuture,
  changesBankAccount,
  changesContact,
  changesPhone,
  type OwnChanges,
} from './profile-changes.ts';
import { assertSmsCountry } from './sms-country.ts';
import { assertNotTaken, rejectTaken } from './unique-fields.ts';

type UpdateProfileDependencies = Pick<
  Dependencies,
  'store' | 'passwords' | 'limiter' | 'limits' | 'licenseDocuments' | 'clock' | 'smsCountries'
>;

/**
 * 422: a taken field, a phone of another country, a birth date in the future, a new e-mail, phone or bank account without
 * the password. 429: too many passwords. 403: a new e-mail, phone or bank account by another token than a session.
 */
type UpdateProfile = (
  caller: UserCaller,
  changes: OwnChanges,
  given: { password: string | undefined; clientAddress: string },
) => Promise<User>;

export const createUpdateProfile = (dependencies: UpdateProfileDependencies): UpdateProfile => {
  const { store, licenseDocuments, clock } = dependencies;
  return async (caller, { trainer_license_image, ...requested }, given) => {
    assertNotBornInFuture(requested, clock.now());
    const user = await findOwnAccount(dependencies, caller.userId);
    // Before the password is verified: a token that must not change credentials must not try passwords either.
    const fields = permittedChanges(caller, user, requested);
    if (changesPhone(user, fields)) assertSmsCountry(dependencies, fields.phone);
    if (changesContact(user, fields) || changesBankAccount(user, fields)) {
      await assertCurrentPassword(dependencies, user, given);
    }
    await assertNotTaken(dependencies, fields, user._id);
    // Media first: when it cannot be reached nothing is changed, and the request can be repeated.
    const clearedMediaId = user.trainer_license_media_id;
    if (trainer_license_image === null && clearedMediaId !== null) {
      await licenseDocuments.delete(user._id, clearedMediaId);
    }
    const updated = await rejectTaken(dependencies, () =>
      store.transaction(async (session) => {
        const current = await store.users.find(user._id, session);
        if (current === null) return null;
        const license = trainer_license_image === null ? clearLicense(current, clearedMediaId) : {};
        // A code that was sent to the old phone proves nothing about the owner of the new one.
        if (changesPhone(current, fields)) await store.codes.invalidate(session, user._id);
        return store.users.update(session, user._id, { ...omitUndefined(fields), ...license });
      }),
    );
    if (updated === null) throw unauthenticated();
    return updated;
  };
};

/** 403 for a new e-mail, phone or bank account, unless the token is a session. */
const permittedChanges = (
  { tokenKind }: UserCaller,
  user: User,
  changes: Omit<OwnChanges, 'trainer_license_image'>,
): Omit<OwnChanges, 'trainer_license_image'> => {
  if (tokenKind === 'session') return changes;
  if (changesContact(user, changes) || changesBankAccount(user, changes)) {
    throw forbidden('e-mail, phone and bank account are changed by sessions only');
  }
  // Without those fields: a session may change them meanwhile, and this request must not change them back.
  const { email, phone, bank_account_number, ...others } = changes;
  return others;
};
