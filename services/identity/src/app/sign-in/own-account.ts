/** Checks that are shared by the use cases for the caller's own account. */
import { type AppError, invalid, message, unauthenticated } from '@fitness/shared/kernel/error.ts';
import { rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { userLimitKey } from '../../domain/limit-keys.ts';
import type { User } from '../../domain/user.ts';

/** Throws 401 when the account was erased after the token was introspected. */
export const findOwnAccount = async (
  { store }: Pick<Dependencies, 'store'>,
  userId: number,
): Promise<User> => {
  const user = await store.users.find(userId);
  if (user === null) throw unauthenticated();
  return user;
};

export const wrongPassword = (): AppError => invalid({ current_password: message('auth.wrong_password') });

export interface PasswordInput {
  password: string;
  clientAddress: string;
}

/** Throws 422 under `current_password` for a wrong password. For routes with a separate limit. */
export const assertPassword = async (
  { passwords }: Pick<Dependencies, 'passwords'>,
  user: User,
  { password, clientAddress }: PasswordInput,
): Promise<void> => {
  if (!(await passwords.verify(user.password_hash, password, clientAddress))) throw wrongPassword();
};

/**
 * Throws 422 under `current_password` for a missing or wrong password. All routes together check a limited number of
 * passwords per minute for an account (429), because a stolen token must not allow guessing.
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
