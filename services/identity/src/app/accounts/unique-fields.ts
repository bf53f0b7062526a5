/** 422 for a user name, e-mail or phone that another account has. */
import { type AppError, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { LoginField } from '../../domain/login.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import type { User } from '../../domain/user.ts';

const taken = (fields: readonly string[]): AppError =>
  invalid(Object.fromEntries(fields.map((field) => [field, message('validation.taken')])));

/** Names every taken field. Does not replace the unique keys of the store, which decide concurrent writes. */
export const assertNotTaken = async (
  { store }: Pick<Dependencies, 'store'>,
  wanted: Partial<Record<LoginField, User[LoginField] | undefined>>,
  exceptUserId?: number,
): Promise<void> => {
  const { username, email, phone } = wanted;
  const fields = await store.users.findTaken(omitUndefined({ username, email, phone }), exceptUserId);
  if (fields.length > 0) throw taken(fields);
};

/** Runs `write` and turns a violated unique key into the 422 of its field. */
export const rejectTaken = async <T>(
  { store }: Pick<Dependencies, 'store'>,
  write: () => Promise<T>,
): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    const field = store.users.takenField(error);
    throw field === undefined || field === 'referral_code' ? error : taken([field]);
  }
};
