import type { Dependencies } from '../dependencies.ts';
import type { User } from '../domain/user.ts';

/** Live accounts; unknown and erased ids are missing. */
export const createGetUsers =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (ids: readonly number[]): Promise<User[]> =>
    store.users.findMany(ids);
