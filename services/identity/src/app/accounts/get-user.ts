import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { User } from '../../domain/user.ts';

/** Throws 404 for an unknown or erased account. */
export const createGetUser =
  ({ store }: Dependencies) =>
  async (id: number): Promise<User> => {
    const user = await store.users.find(id);
    if (user === null) throw notFound();
    return user;
  };
