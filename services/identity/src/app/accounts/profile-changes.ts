/** What the account itself and an operator may change, and the checks that both updates share. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, invalid, message } from '@fitness/shared/kernel/error.ts';
import { compactBankAccount, isBankAccount } from '../../domain/bank-account.ts';
import { isInTheFuture } from '../../domain/birth-date.ts';
import { emailKey, LOGIN_FIELDS, loginKey, readsAsPhone } from '../../domain/login.ts';
import type { User } from '../../domain/user.ts';

/** Fields that have a use case of their own, or that no request changes. */
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

/** A field that is undefined is unchanged; null clears it. */
export type ProfileChanges = Changes<Omit<User, ExcludedField>> & {
  trainer_license_image?: null | undefined;
};

export type OwnChanges = ProfileChanges & Changes<Pick<User, 'is_trainer' | 'is_gym_owner'>>;

/** 422 for a birth date in the future. */
export const assertNotBornInFuture = ({ birth_date: birthDate }: ProfileChanges, now: Date): void => {
  if (birthDate != null && isInTheFuture(birthDate, now)) {
    throw invalid({ birth_date: message('validation.date_in_the_future') });
  }
};

/** 422 for a new user name that reads as a phone number. One that the account has had before is kept. */
export const assertUsername = (user: User, { username }: ProfileChanges): void => {
  if (username !== undefined && username !== user.username && readsAsPhone(username)) {
    throw invalid({ username: message('validation.username_is_phone') });
  }
};

/** Whether the answer tells that another account has one of these values, or has not. */
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
 * The changes with the bank account in the form that is stored. The one that is stored, however it is spelled, is no change,
 * also where it would be refused today. 422 for one that no bank can have.
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
 * 403 for another user name, e-mail, phone or bank account, unless the token is a session: with the first three its user
 * signs in. Such a token gets the changes without these fields: a session may change them meanwhile, and this request must
 * not change them back.
 */
export const changesForToken = <Changes extends ProfileChanges>(
  { tokenKind }: UserCaller,
  user: User,
  changes: Changes,
): Changes => {
  if (tokenKind === 'session') return changes;
  const { username = user.username } = changes;
  if (username !== user.username || changesContact(user, changes) || changesBankAccount(user, changes)) {
    throw forbidden('user name, e-mail, phone and bank account are changed by sessions only');
  }
  return {
    ...changes,
    username: undefined,
    email: undefined,
    phone: undefined,
    bank_account_number: undefined,
  };
};
