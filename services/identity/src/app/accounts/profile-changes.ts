/** The changes that both the owner and an operator can make, and the checks that both updates share. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden } from '@fitness/shared/kernel/error.ts';
import { compactBankAccount } from '../../domain/bank-account.ts';
import { emailKey, LOGIN_FIELDS, loginKey } from '../../domain/login.ts';
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

/** Whether this is the number of the account, in any spelling. */
export const isCurrentBankAccount = (
  { bank_account_number: stored }: Pick<User, 'bank_account_number'>,
  typed: string,
): boolean =>
  stored !== null && (typed === stored || compactBankAccount(typed) === compactBankAccount(stored));

/** Returns the changes with the bank account in its stored form. Any spelling of the current number is not a change. */
export const withBankAccount = <Changes extends ProfileChanges>(user: User, changes: Changes): Changes => {
  const { bank_account_number: typed } = changes;
  if (typed == null) return changes;
  const bank_account_number = isCurrentBankAccount(user, typed) ? undefined : compactBankAccount(typed);
  return { ...changes, bank_account_number };
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
