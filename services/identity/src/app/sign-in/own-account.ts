/** Checks that the use cases on the caller's own account share. */
import { type AppError, invalid, message, unauthenticated } from '@fitness/shared/kernel/error.ts';
import { rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { userLimitKey } from '../../domain/limit-keys.ts';
import type { User } from '../../domain/user.ts';

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

export interface GivenPassword {
  password: string;
  clientAddress: string;
}

/** 422 under `current_password`. For routes that have a limit of their own. */
export const assertPassword = async (
  { passwords }: Pick<Dependencies, 'passwords'>,
  user: User,
  { password, clientAddress }: GivenPassword,
): Promise<void> => {
  if (!(await passwords.verify(user.password_hash, password, clientAddress))) throw wrongPassword();
};

/**
 * 422 under `current_password` for a missing or wrong password. All routes together check a limited number of passwords
 * a minute for an account (429): a stolen token must not allow guessing.
 */
export const assertCurrentPassword = async (
  dependencies: Pick<Dependencies, 'passwords' | 'limiter' | 'limits'>,
  user: User,
  { password, clientAddress }: { password: string | undefined; clientAddress: string },
): Promise<void> => {
  if (password === undefined) throw invalid({ current_password: message('validation.required') });
  const state = await dependencies.limiter.consume(
    dependencies.limits.passwordChecks,
    userLimitKey(user._id),
  );
  if (!state.allowed) throw rateLimited(state);
  await assertPassword(dependencies, user, { password, clientAddress });
};
