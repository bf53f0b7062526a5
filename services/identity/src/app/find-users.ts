import type { Dependencies } from '../dependencies.ts';
import type { User } from '../domain/user.ts';

/** Live accounts; unknown and erased ids are missing. */
export const createFindUsers =
  ({ users }: Pick<Dependencies, 'users'>) =>
  (ids: readonly number[]): Promise<User[]> =>
    users.findByIds(ids);
