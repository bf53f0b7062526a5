import { invalid, message } from '@fitness/shared/kernel/error.ts';
import { isNameOfAccount } from '../../domain/password-rules.ts';
import type { User } from '../../domain/user.ts';

/** Throws 422 under `password` if the password is the username, email or phone of the account. */
export const assertNotName = (
  password: string,
  account: Pick<User, 'username' | 'email' | 'phone'>,
): void => {
  if (isNameOfAccount(password, account)) {
    throw invalid({ password: message('validation.password_is_name') });
  }
};
