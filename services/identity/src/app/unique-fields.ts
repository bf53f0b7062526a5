/** 422 for what another account has; the keys of the store decide every race, the look before only names all fields. */
import { type AppError, invalid, message } from '@fitness/shared/error.ts';
import type { LoginField } from '../domain/login.ts';
import type { User } from '../domain/user.ts';
import type { UserStore } from '../store/users.ts';

const taken = (fields: readonly string[]): AppError =>
  invalid(Object.fromEntries(fields.map((field) => [field, message('validation.taken')])));

export const assertFree = async (
  users: UserStore,
  wanted: Partial<Pick<User, LoginField>>,
  exceptUserId?: number,
): Promise<void> => {
  const fields = await users.findTaken(wanted, exceptUserId);
  if (fields.length > 0) throw taken(fields);
};

/** Runs a write and turns a refused key into its 422. */
export const refusingTaken = async <T>(users: UserStore, write: () => Promise<T>): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    const field = users.takenField(error);
    throw field === undefined || field === 'referral_code' ? error : taken([field]);
  }
};
