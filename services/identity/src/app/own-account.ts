/** Checks that the use cases on the caller's own account share. */
import { type AppError, invalid, message, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import type { User } from '../domain/user.ts';

/** 401 when the account was erased after the token was introspected. */
export const findOwnAccount = async (
  { store }: Pick<Dependencies, 'store'>,
  userId: number,
): Promise<User> => {
  const user = await store.users.find(userId);
  if (user === null) throw unauthenticated();
  return user;
};

export const wrongPassword = (): AppError => invalid({ current_password: message('auth.wrong_password') });

/** 422 under `current_password` for a missing or wrong password. */
export const assertCurrentPassword = async (
  { passwords }: Pick<Dependencies, 'passwords'>,
  user: User,
  password: string | undefined,
): Promise<void> => {
  if (password === undefined) throw invalid({ current_password: message('validation.required') });
  if (!(await passwords.verify(user.password_hash, password))) throw wrongPassword();
};
