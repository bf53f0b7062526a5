/** The changes that both the owner and an operator can make, and the checks that both updates share. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, invalid, message } from '@fitness/shared/kernel/error.ts';
import { compactBankAccount, isBankAccount } from '../../domain/bank-account.ts';
import { isInTheFuture } from '../../domain/birth-date.ts';
import { emailKey, LOGIN_FIELDS, loginKey, readsAsPhone } from '../../domain/login.ts';
import type { User } from '../../domain/user.ts';

/** Fields that are changed by a separate use case or by no request. */
type ExcludedField =
  | '_id'
  | 'password_hash'
  | 'phone_proven'
  | 'created_at'
  | 'referral_code'
  | 'referrer_user_id'
  | 'is_trainer'
  | 'is_gym_owner'
  | `trainer_license_${string}`
  | 'role_ids'
  | 'has_referrals'
  | `deletion_${string}`
  | 'version'
  | 'credential_epoch';

type Changes<Fields> = { [Field in keyof Fields]?: Fields[Field] | undefined };

/** An undefined field stays unchanged; null clears it. */
export type ProfileChanges = Changes<Omit<User, ExcludedField>>;

export type OwnChanges = ProfileChanges &
  Changes<Pick<User, 'is_trainer' | 'is_gym_owner'>> & { trainer_license_image?: null | undefined };

/** Throws 422 for a birth date in the future. */
export const assertNotBornInFuture = ({ birth_date: birthDate }: ProfileChanges, now: Date): void => {
  if (birthDate != null && isInTheFuture(birthDate, now)) {
    throw invalid({ birth_date: message('validation.date_in_the_future') });
  }
};

/** Throws 422 for a new username that reads as a phone number. The current username is always accepted. */
export const assertUsername = (user: User, { username }: ProfileChanges): void => {
  if (username !== undefined && username !== user.username && readsAsPhone(username)) {
    throw invalid({ username: message('validation.username_is_phone') });
  }
};

/** Whether the response to these changes reveals if another account has one of the new values. */
export const changesNames = (user: User, changes: ProfileChanges): boolean =>
  LOGIN_FIELDS.some((field) => {
    const value = changes[field];
    return value !== undefined && loginKey(field, value) !== loginKey(field, user[field]);
  });

export const changesPhone = (user: User, { phone }: ProfileChanges): boolean =>
  phone !== undefined && phone !== user.phone;

/** Whether codes and messages would go to another address or phone. */
export const changesContact = (user: User, changes: ProfileChanges): boolean =>
  (changes.email !== undefined && emailKey(changes.email) !== emailKey(user.email)) ||
  changesPhone(user, changes);

export const changesBankAccount = (user: User, changes: ProfileChanges): boolean =>
  changes.bank_account_number !== undefined && changes.bank_account_number !== user.bank_account_number;

/**
 * Returns the changes with the bank account in its stored form. Any spelling of the current number is not a change, even if
 * that number would be refused today. Throws 422 for an impossible number.
 */
export const withBankAccount = <Changes extends ProfileChanges>(user: User, changes: Changes): Changes => {
  const { bank_account_number: typed } = changes;
  if (typed == null) return changes;
  const compact = compactBankAccount(typed);
  const { bank_account_number: stored } = user;
  if (stored !== null && (typed === stored || compact === compactBankAccount(stored))) {
    return { ...changes, bank_account_number: undefined };
  }
  if (!isBankAccount(compact)) throw invalid({ bank_account_number: message('validation.bank_account') });
  return { ...changes, bank_account_number: compact };
};

/**
 * Throws 403 for a new username, email, phone or bank account, unless the token is a session. Users sign in with the
 * first three. For other tokens these fields are removed from the changes: a session may change them meanwhile, and
 * this request must not change them back.
 */
export const changesForToken = <Changes extends ProfileChanges>(
  { tokenKind }: UserCaller,
  user: User,
  changes: Changes,
): Changes => {
  if (tokenKind === 'session') return changes;
  const { username = user.username } = changes;
  if (username !== user.username || changesContact(user, changes) || changesBankAccount(user, changes)) {
    throw forbidden('only a session may change the username, email, phone and bank account');
  }
  return {
    ...changes,
    username: undefined,
    email: undefined,
    phone: undefined,
    bank_account_number: undefined,
  };
};
