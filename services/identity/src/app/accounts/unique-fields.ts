/** Checks that no other account has the same username, email or phone. */
import { type AppError, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { LoginField } from '../../domain/login.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import type { User } from '../../domain/user.ts';

const takenError = (fields: readonly string[]): AppError =>
  invalid(Object.fromEntries(fields.map((field) => [field, message('validation.taken')])));

/** Throws a 422 that names every taken field. The unique keys of the store still decide concurrent writes. */
export const assertNotTaken = async (
  { store }: Pick<Dependencies, 'store'>,
  values: Partial<Record<LoginField, User[LoginField] | undefined>>,
  exceptUserId?: number,
): Promise<void> => {
  const { username, email, phone } = values;
  const fields = await store.users.findTaken(omitUndefined({ username, email, phone }), exceptUserId);
  if (fields.length > 0) throw takenError(fields);
};

/** Runs `write` and turns a violated unique key into a 422 for its field. */
export const rejectTaken = async <T>(
  { store }: Pick<Dependencies, 'store'>,
  write: () => Promise<T>,
): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    const field = store.users.takenField(error);
    throw field === undefined || field === 'referral_code' ? error : takenError([field]);
  }
};
